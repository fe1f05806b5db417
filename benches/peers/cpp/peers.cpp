// The workloads on OpenMP (gcc's libgomp) and oneTBB. The bodies are the loops of
// `src/workloads.rs`; a pool's part is only how the range is cut and handed out.

#include <omp.h>
#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_reduce.h>
#include <tbb/partitioner.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace {

// The order of `Kind` in `src/contenders/cpp.rs`.
enum Kind { kOmpStatic, kOmpDynamic, kTbbStatic, kTbbAuto };

// What an index costs, as in `src/contenders/mod.rs`.
enum class Cost { kLight, kHeavy, kRising };

// Parts for `schedule(dynamic)`: as few as let threads that come late take less, and many where
// the last indices cost the most.
std::size_t DynamicParts(std::size_t n, std::size_t threads, Cost cost) {
  return std::min(n, threads * (cost == Cost::kRising ? 32 : 4));
}

// The longest range that `auto_partitioner` does not cut further: about 1 µs. Of 1024 to 16384 light
// indices, 1024 was 10 to 20 % slower on 2 threads, and the others were alike.
std::size_t Grain(Cost cost) { return cost == Cost::kLight ? 4096 : 1; }

std::size_t Bound(std::size_t n, std::size_t part, std::size_t parts) {
  return n * part / parts;
}

using Range = tbb::blocked_range<std::size_t>;

// Calls `body(begin, end)` for ranges that make up 0..n.
template <typename Body>
void Loop(int kind, std::size_t threads, std::size_t n, Cost cost, const Body& body) {
  switch (kind) {
    case kOmpStatic: {
      const std::size_t parts = std::min(n, threads);
#pragma omp parallel for num_threads(parts) schedule(static)
      for (std::size_t p = 0; p < parts; ++p) {
        body(Bound(n, p, parts), Bound(n, p + 1, parts));
      }
      return;
    }
    case kOmpDynamic: {
      const std::size_t parts = DynamicParts(n, threads, cost);
#pragma omp parallel for num_threads(std::min(n, threads)) schedule(dynamic)
      for (std::size_t p = 0; p < parts; ++p) {
        body(Bound(n, p, parts), Bound(n, p + 1, parts));
      }
      return;
    }
    case kTbbStatic:
      tbb::parallel_for(
          Range(0, n), [&](const Range& r) { body(r.begin(), r.end()); },
          tbb::static_partitioner());
      return;
    case kTbbAuto:
      tbb::parallel_for(
          Range(0, n, Grain(cost)), [&](const Range& r) { body(r.begin(), r.end()); },
          tbb::auto_partitioner());
      return;
  }
}

// The sum of `part(begin, end)` over ranges that make up 0..n.
template <typename Part>
double Sum(int kind, std::size_t threads, std::size_t n, const Part& part) {
  double sum = 0.0;
  const auto add = [&](const Range& r, double s) { return s + part(r.begin(), r.end()); };
  const auto join = [](double a, double b) { return a + b; };
  switch (kind) {
    case kOmpStatic: {
      const std::size_t parts = std::min(n, threads);
#pragma omp parallel for num_threads(parts) schedule(static) reduction(+ : sum)
      for (std::size_t p = 0; p < parts; ++p) {
        sum += part(Bound(n, p, parts), Bound(n, p + 1, parts));
      }
      return sum;
    }
    case kOmpDynamic: {
      const std::size_t parts = DynamicParts(n, threads, Cost::kLight);
#pragma omp parallel for num_threads(std::min(n, threads)) schedule(dynamic) reduction(+ : sum)
      for (std::size_t p = 0; p < parts; ++p) {
        sum += part(Bound(n, p, parts), Bound(n, p + 1, parts));
      }
      return sum;
    }
    case kTbbStatic:
      return tbb::parallel_reduce(Range(0, n), 0.0, add, join, tbb::static_partitioner());
    case kTbbAuto:
      return tbb::parallel_reduce(Range(0, n, Grain(Cost::kLight)), 0.0, add, join,
                                  tbb::auto_partitioner());
  }
  return sum;
}

// `workloads::chain`.
__attribute__((noinline)) double Chain(double v, std::uint64_t iterations) {
  for (std::uint64_t k = 0; k < iterations; ++k) {
    v = v * 0.999999 + 1e-6;
  }
  return v;
}

// `workloads::dot`: sixteen running sums, because a compiler may not reorder a single one.
double Dot(const double* x, const double* y, std::size_t n) {
  typedef double Pair __attribute__((vector_size(16)));
  Pair sums[8] = {};
  std::size_t i = 0;
  for (; i + 16 <= n; i += 16) {
#pragma GCC unroll 8
    for (int k = 0; k < 8; ++k) {
      Pair a, b;
      std::memcpy(&a, x + i + 2 * k, sizeof a);
      std::memcpy(&b, y + i + 2 * k, sizeof b);
      sums[k] += a * b;
    }
  }
  double rest = 0.0;
  for (; i < n; ++i) {
    rest += x[i] * y[i];
  }
  for (int width = 4; width > 0; width /= 2) {
    for (int k = 0; k < width; ++k) {
      sums[k] += sums[k + width];
    }
  }
  return sums[0][0] + sums[0][1] + rest;
}

}  // namespace

extern "C" {

void peers_zero(int kind, std::size_t threads, double* y, std::size_t n) {
  Loop(kind, threads, n, Cost::kLight,
       [=](std::size_t begin, std::size_t end) { std::fill(y + begin, y + end, 0.0); });
}

void peers_axpy(int kind, std::size_t threads, double a, const double* __restrict x,
                double* __restrict y, std::size_t n) {
  Loop(kind, threads, n, Cost::kLight, [=](std::size_t begin, std::size_t end) {
    const double* __restrict xs = x;
    double* __restrict ys = y;
    for (std::size_t i = begin; i < end; ++i) {
      ys[i] += a * xs[i];
    }
  });
}

double peers_dot(int kind, std::size_t threads, const double* x, const double* y,
                 std::size_t n) {
  return Sum(kind, threads, n, [=](std::size_t begin, std::size_t end) {
    return Dot(x + begin, y + begin, end - begin);
  });
}

void peers_work(int kind, std::size_t threads, std::uint64_t iterations, double* y,
                std::size_t n) {
  Loop(kind, threads, n, Cost::kHeavy, [=](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      y[i] = Chain(static_cast<double>(i), iterations);
    }
  });
}

void peers_skew(int kind, std::size_t threads, double scale, double* y, std::size_t n) {
  Loop(kind, threads, n, Cost::kRising, [=](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const double k = static_cast<double>(i + 1);
      y[i] = Chain(static_cast<double>(i), static_cast<std::uint64_t>(scale * k * k));
    }
  });
}

// Calls `f(context)` in an arena of `threads` threads. oneTBB starts as many workers as there are
// processors unless it is told otherwise.
void peers_in_arena(std::size_t threads, void (*f)(void*), void* context) {
  tbb::global_control most(tbb::global_control::max_allowed_parallelism, threads);
  tbb::task_arena arena(static_cast<int>(threads));
  arena.execute([=] { f(context); });
}

}  // extern "C"
