package inventory

// OnlyUnseen reports whether all that err, of [Inventory.ConfirmAbsent], has against the absence of a VM is that it lies
// outside the configured datacenters, or that some VM cannot be identified: no vCenter was out of reach, and no search
// within the datacenters finds it. Upstream's provider calls such a VM gone.
func OnlyUnseen(err error) bool {
	switch e := err.(type) { //nolint:errorlint // every leaf counts, not the first that matches
	case nil:
		return false
	case interface{ Unwrap() []error }:
		for _, err := range e.Unwrap() {
			if !OnlyUnseen(err) {
				return false
			}
		}
		return true
	case interface{ Unwrap() error }:
		return OnlyUnseen(e.Unwrap())
	}
	return err == errOutside || err == errUnidentified //nolint:errorlint // a leaf
}
