package config_test

import (
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
)

// For a file of random data every key is reported, but only the first ones get a hint.
func TestManyUnknownKeys(t *testing.T) {
	const letters = "abcdefghijklmnopqrstuvwxyz"
	var keys []string
	for _, of := range []string{"user", "password", "thumbprint"} {
		for _, a := range letters {
			for _, b := range letters {
				keys = append(keys, of+string(a)+string(b)) // near enough to be guessed
			}
		}
	}
	for name, text := range map[string]string{
		"YAML": "vcenter:\n  one:\n    server: s\n    " + strings.Join(keys, ": x\n    ") + ": x\n",
		"INI":  "[VirtualCenter \"one\"]\nserver = s\n" + strings.Join(keys, " = x\n") + " = x\n",
	} {
		t.Run(name, func(t *testing.T) {
			_, problems := config.Check("vsphere.conf", []byte(text))
			hints := map[bool]int{}
			for _, p := range problems {
				if p.Message == "unknown key" {
					hints[p.Hint != ""]++
				}
			}
			if hints[true] != 1000 || hints[false] != len(keys)-1000 {
				t.Errorf("%d with a hint, %d without", hints[true], hints[false])
			}
		})
	}
}
