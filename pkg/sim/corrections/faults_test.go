package corrections

import "testing"

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
