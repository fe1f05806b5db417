//! The contenders' names, in a file that needs no contender: `benches/pictures` includes it.

use std::fmt;

/// A contender's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pool {
    Serial,
    CongaPerThread,
    CongaChained,
    CongaAdaptive,
    RayonOutside,
    RayonInstall,
    Chili,
    Forkunion,
    Paralight,
    Orx,
    StdScope,
    OmpStatic,
    OmpDynamic,
    OmpStaticPassive,
    OmpDynamicPassive,
    TbbStatic,
    TbbAuto,
}

use Pool::*;

impl Pool {
    /// In the order of the table's columns.
    pub const NAMES: [(Pool, &'static str); 17] = [
        (Serial, "serial"),
        (CongaPerThread, "conga_per_thread"),
        (CongaChained, "conga_chained"),
        (CongaAdaptive, "conga_adaptive"),
        (RayonOutside, "rayon_outside"),
        (RayonInstall, "rayon_install"),
        (Chili, "chili"),
        (Forkunion, "forkunion"),
        (Paralight, "paralight"),
        (Orx, "orx"),
        (StdScope, "std_scope"),
        (OmpStatic, "omp_static"),
        (OmpDynamic, "omp_dynamic"),
        (OmpStaticPassive, "omp_static_passive"),
        (OmpDynamicPassive, "omp_dynamic_passive"),
        (TbbStatic, "tbb_static"),
        (TbbAuto, "tbb_auto"),
    ];

    pub fn name(self) -> &'static str {
        Self::NAMES
            .iter()
            .find(|&&(pool, _)| pool == self)
            .map_or("?", |&(_, name)| name)
    }

    pub fn is_conga(self) -> bool {
        matches!(self, CongaPerThread | CongaChained | CongaAdaptive)
    }
}

impl fmt::Display for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
