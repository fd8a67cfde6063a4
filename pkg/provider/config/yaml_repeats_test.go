package config_test

import (
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
)

// A file that repeats a key thousands of times is refused at the cost of reading it.
func TestRepeatedKeys(t *testing.T) {
	for name, text := range map[string]string{
		"at the top": strings.Repeat("a: b\n", 20000),
		"below":      "vcenter:\n  one:\n" + strings.Repeat("    server: b\n", 20000),
		"in a list":  "x:\n- [{" + strings.Repeat("a: b, ", 20000) + "a: b}]\n",
	} {
		t.Run(name, func(t *testing.T) {
			_, problems := config.Check("vsphere.conf", []byte(text))
			if len(problems) != 1 || !strings.Contains(problems[0].String(), "is a duplicate, and this mapping has more than 20 duplicates") {
				t.Errorf("%d problems, the first %.1000v", len(problems), problems)
			}
		})
	}
}
