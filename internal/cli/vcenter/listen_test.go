package vcenter

import (
	"context"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/vcsim"
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

func TestExpose(t *testing.T) {
	for _, tc := range []struct {
		args, refused string
	}{
		{"--vm 1 --listen 127.0.0.1:0 --expose --certificate-name vc.example.com", ""},
		{"--vm 1 --expose", "--expose needs the addresses"},
		{"--vm 1 --listen 127.0.0.1:0 --expose --tls=false", "with TLS and logins"},
		{"--vm 1 --listen 127.0.0.1:0 --expose --username me --password short", "a password of 5 characters"},
	} {
		e := clitest.NewEnv(nil)
		cmd := NewCmdUp(e.Deps, func(context.Context, *upOptions) error { return nil })
		if r := e.Run(t.Context(), cmd, strings.Fields(tc.args)...); (r.Exit != 0) != (tc.refused != "") || !strings.Contains(r.Message, tc.refused) {
			t.Errorf("%s: ended with %+v", tc.args, r)
		}
	}
	for _, tc := range []struct {
		address string
		expose  bool
		refused bool
		warns   bool
	}{
		{"127.0.0.1:0", false, false, false},
		{"[::1]:0", false, false, false},
		{"localhost:0", false, false, false},
		{"192.0.2.10:8989", false, true, false},
		{"vc.example.com:8989", false, true, false},
		{"192.0.2.10:8989", true, false, true},
	} {
		e := clitest.NewEnv(nil)
		o := &upOptions{options: &options{streams: e.Streams}, expose: tc.expose}
		err := o.exposes([]string{tc.address})
		if (err != nil) != tc.refused || strings.Contains(e.Err.String(), "warning: every machine that can connect to "+tc.address) != tc.warns {
			t.Errorf("%s, --expose=%t: %v, %q", tc.address, tc.expose, err, e.Err)
		}
	}
}

// "vcenter up" has every flag of vcsim.
func TestFlagsOfVcsim(t *testing.T) {
	f := NewCmdUp(clitest.NewEnv(nil).Deps, nil).Flags()
	for _, name := range append(vcsim.Names(), "E", "l", "load", "username", "password") {
		if f.Lookup(name) == nil && (len(name) > 1 || f.ShorthandLookup(name) == nil) {
			t.Errorf("no -%s", name)
		}
	}
}
