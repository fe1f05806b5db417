//! `Memory`: what one caller remembers from loop to loop.

use crate::count::Count;

/// What a caller remembers; it alone writes it.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    /// What its loops would have saved with a worker that spins, since one was woken last: when it has
    /// come to the price of waking one, one is woken.
    pub(super) rent: Account,
    /// What its loops took for which nobody was woken, since the price of that was doubted last.
    pub(super) refused: Account,
    /// What those took that help had made worse, since that was tried again,
    pub(super) without: Account,
    /// and how often it was as before.
    pub(super) as_before: Count,
    /// What those took that were not worth a thought, though not by far, since the price was doubted
    /// last.
    pub(super) below: Account,
    /// How many were worth a thought.
    pub(super) thoughts: Count,
}

/// A sum that grows until it has come to a price.
#[derive(Debug, Default)]
pub(super) struct Account(Count);

impl Account {
    /// Adds what was lost. True: with that it exceeds the price, and begins at nought again.
    pub(super) fn comes_to(&self, lost: u64, price: u64) -> bool {
        self.0.add(lost);
        let due = self.0.get() > price;
        if due {
            self.0.set(0);
        }
        due
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Catches an account that is due at every call after the first time, or never again.
    #[test]
    fn an_account_is_due_once_for_each_price() {
        let account = Account::default();
        let due = (0..100).filter(|_| account.comes_to(10, 95));
        assert_eq!(
            due.collect::<Vec<_>>(),
            [9, 19, 29, 39, 49, 59, 69, 79, 89, 99]
        );
    }
}
