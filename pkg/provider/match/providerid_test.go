package match

import (
	"errors"
	"testing"
)

// Any providerID is either ours with a UUID, ours without, or another provider's.
func FuzzParseProviderID(f *testing.F) {
	const exact, swapped = "01020304-0506-0708-8090-a0b0c0d0e0f0", "04030201-0605-0807-8090-a0b0c0d0e0f0"
	for _, id := range []string{"", "vsphere://", "vsphere://" + exact, " VSphere://" + swapped + "\n", exact, "kind://docker/kind/x", "vsphere:///" + exact, "aws:///a/i-0"} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		u, err := ParseProviderID(id)
		switch {
		case errors.Is(err, ErrForeignProviderID) == errors.Is(err, ErrInvalidProviderID) && err != nil:
			t.Errorf("%q: %v", id, err)
		case err == nil:
			if again, err := ParseProviderID(ProviderID(u)); err != nil || again != u {
				t.Errorf("%q: %v, %v, want %v", id, again, err, u)
			}
		}
	})
}
