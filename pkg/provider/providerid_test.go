package provider

import (
	"errors"
	"testing"
)

// Whatever a providerID holds, it is one of ours with a UUID, one of ours without, or another provider's.
func FuzzParseProviderID(f *testing.F) {
	for _, id := range []string{"", "vsphere://", "vsphere://" + u1, " VSphere://" + u1Swapped + "\n", u1, "kind://docker/kind/x", "vsphere:///" + u1, "aws:///a/i-0"} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		u, err := parseProviderID(id)
		switch {
		case errors.Is(err, ErrForeignProviderID) == errors.Is(err, ErrInvalidProviderID) && err != nil:
			t.Errorf("%q: %v", id, err)
		case err == nil:
			if again, err := parseProviderID(providerID(u)); err != nil || again != u {
				t.Errorf("%q: %v, %v, want %v", id, again, err, u)
			}
		}
	})
}
