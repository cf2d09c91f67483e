//! Coordinators that lie about attempts.
