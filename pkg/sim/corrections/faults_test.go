package corrections

import (
	"testing"

	"github.com/vmware/govmomi/vim25/types"
)

func TestWords(t *testing.T) {
	for name, want := range map[string]string{
		"CannotAccessNetwork": "Cannot access network.",
		"NotFound":            "Not found.",
		"DVSFault":            "DVS fault.",
		"InvalidDVS":          "Invalid DVS.",
		"SSPIChallenge":       "SSPI challenge.",
	} {
		if got := words(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestMessagesOfStorage(t *testing.T) {
	for want, f := range map[string]types.BaseMethodFault{
		"Unable to access datastore 'ds-1': not mounted on host h.": &types.InaccessibleDatastore{
			InvalidDatastore: types.InvalidDatastore{Name: "ds-1"}, Detail: "not mounted on host h",
		},
		"Unable to access a datastore: not mounted on host h.":                      &types.InaccessibleDatastore{Detail: "not mounted on host h"},
		"The number of virtual devices exceeds the maximum for a given controller.": new(types.TooManyDevices),
	} {
		if got := Message(f); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
