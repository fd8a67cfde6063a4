package vcenter

import (
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
)

func TestAddresses(t *testing.T) {
	for _, tc := range []struct {
		given, want, refused string
		n                    int
	}{
		{n: 2},
		{given: "127.0.0.1:8989", n: 1, want: "127.0.0.1:8989"},
		{given: "127.0.0.1:8989", n: 3, want: "127.0.0.1:8989 127.0.0.1:0 127.0.0.1:0"},
		{given: "127.0.0.1:8989 [::1]:0", n: 3, want: "127.0.0.1:8989 [::1]:0 [::1]:0"},
		{given: "localhost:0 localhost:0", n: 1, refused: "--listen is there 2 times, and vCenters 1"},
		{given: "foo", n: 1, refused: "--listen foo: want an address and a port"},
		{given: "127.0.0.1:99999", n: 1, refused: "want an address and a port"},
		{given: "127.0.0.1:http", n: 1, refused: "want an address and a port"},
		{given: ":8989", n: 1, refused: "the one address that clients are to use"},
		{given: "0.0.0.0:8989", n: 1, refused: "the one address that clients are to use"},
		{given: "[::]:8989", n: 1, refused: "the one address that clients are to use"},
	} {
		t.Run(tc.given, func(t *testing.T) {
			got, err := addresses(strings.Fields(tc.given), tc.n)
			if tc.refused != "" {
				if r := report.Of(err); err == nil || r.Exit != report.Usage || !strings.Contains(r.Message, tc.refused) {
					t.Errorf("%v, %v; want %q", got, err, tc.refused)
				}
				return
			}
			if err != nil || strings.Join(got, " ") != tc.want {
				t.Errorf("%v, %v; want %s", got, err, tc.want)
			}
		})
	}
}
