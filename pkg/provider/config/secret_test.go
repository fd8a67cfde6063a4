package config

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func bytesOf(pairs ...string) map[string][]byte {
	data := map[string][]byte{}
	for i := 0; i < len(pairs); i += 2 {
		data[pairs[i]] = []byte(pairs[i+1])
	}
	return data
}

func TestSecret(t *testing.T) {
	up := Credentials{User: "u", Password: "p"}
	for _, tc := range []struct {
		name     string
		data     map[string][]byte
		server   string
		want     Credentials
		err      string
		problems []string
	}{
		{"dotted", bytesOf("vc.example.username", "u", "vc.example.password", "p"), "vc.example", up, "", nil},
		{"any case", bytesOf("VC.example.Username", "u", "vc.Example.PASSWORD", "p"), "vc.EXAMPLE", up, "", nil},
		{"newlines", bytesOf("vc.username", "u\n", "vc.password", "p \r\n"), "vc", Credentials{User: "u", Password: "p "}, "", nil},
		{"one newline only", bytesOf("vc.username", "u", "vc.password", "p\n\n"), "vc", Credentials{User: "u", Password: "p\n"}, "", []string{"vc.password: the password has a line break (U+000A)"}},
		{"quotes", bytesOf("vc.username", "'u'", "vc.password", "p"), "vc", Credentials{User: "'u'", Password: "p"}, "", []string{"vc.password: the username has ' at both ends as a part of the value"}},
		{"carriage return", bytesOf("vc.username", "a\rb", "vc.password", "p"), "vc", Credentials{User: "a\rb", Password: "p"}, "", []string{"vc.password: the username has a carriage return (U+000D)"}},
		{"IPv4", bytesOf("192.0.2.7.username", "u", "192.0.2.7.password", "p"), "192.0.2.7", up, "", nil},
		{"of several", bytesOf("a.username", "x", "a.password", "x", "b.username", "u", "b.password", "p"), "b", up, "", nil},
		{"numbered", bytesOf("server_1", "fd01::1\n", "username_1", "u\n", "password_1", "p\n"), "FD01:0::1", up, "", nil},
		{"numbered by name, in brackets", bytesOf("server_west", "fd01::1", "username_west", "u", "password_west", "p"), "[fd01::1]", up, "", nil},
		{"both", bytesOf("server_1", "vc1", "username_1", "u", "password_1", "p", "vc2.username", "x", "vc2.password", "x"), "vc1", up, "", nil},
		{"session manager", bytesOf("vc.vc-session-manager-url", "https://sm", "vc.vc-session-manager-token", "t\n"), "VC", Credentials{SessionManagerURL: "https://sm", SessionManagerToken: "t"}, "", nil},
		{"session manager without a token", bytesOf("vc.vc-session-manager-url", "https://sm"), "vc", Credentials{SessionManagerURL: "https://sm"}, "", nil},

		{"empty", nil, "vc", Credentials{}, "no credentials: keys vc.username and vc.password are needed", nil},
		{"another's", bytesOf("a.username", "u", "a.password", "p"), "vc", Credentials{}, "no credentials: keys vc.username and vc.password are needed", nil},
		{"half", bytesOf("vc.username", "u"), "VC", Credentials{}, "keys VC.username and VC.password are needed", []string{"vc.username: keys vc.username and vc.password are needed"}},
		{"empty password", bytesOf("vc.username", "u", "vc.password", "\n"), "vc", Credentials{}, "keys vc.username and vc.password are needed", []string{"vc.password: keys vc.username and vc.password are needed"}},
		{"numbered, half", bytesOf("server_1", "vc", "username_1", "u"), "vc", Credentials{}, "key password_1 is missing or empty", []string{"server_1: key password_1 is missing or empty"}},
		{"numbered, no server", bytesOf("username_1", "u", "password_1", "p"), "vc", Credentials{}, "no credentials: keys vc.username and vc.password are needed", []string{"password_1: has no effect without server_1", "username_1: has no effect without server_1"}},
		{"no names", bytesOf("server_", "vc", ".username", "u", "server_2", ""), "vc", Credentials{}, "no credentials: keys vc.username and vc.password are needed", []string{".username: names no server", "server_: names no server", "server_2: names no server"}},
		{"unknown does no harm", bytesOf("vc.username", "u", "vc.password", "p", "tls.crt", "x", "password", "x"), "vc", up, "", []string{"password: unknown key", "tls.crt: unknown key"}},
		{"half of another does no harm", bytesOf("vc.username", "u", "vc.password", "p", "a.username", "x"), "vc", up, "", []string{"a.username: keys a.username and a.password are needed"}},
		{"twice", bytesOf("VC.username", "u", "vc.username", "x", "vc.password", "p"), "vc", up, "", []string{"vc.username: is ignored: another key sets the same value"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := ParseSecret("s", tc.data)
			got, err := s.For(tc.server)
			if got != tc.want || (err == nil) != (tc.err == "") || err != nil && err.Error() != tc.err {
				t.Errorf("%+v, %v, want %+v, %q", got, err, tc.want, tc.err)
			}
			if strings.HasPrefix(tc.err, "no credentials") != errors.Is(err, ErrNoCredentials) {
				t.Errorf("%v", err)
			}
			var problems []string
			for _, p := range s.Problems() {
				if !p.Warning {
					t.Errorf("%v is no warning", p)
				}
				problems = append(problems, strings.TrimPrefix(p.String(), "s: "))
			}
			if diff := cmp.Diff(tc.problems, problems); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzSecret(f *testing.F) {
	f.Add("vc.username", "server_1", "username_1", "vc", "x")
	f.Fuzz(func(t *testing.T, a, b, c, value, server string) {
		s := ParseSecret("s", bytesOf(a, value, b, value, c, value))
		got, err := s.For(server)
		if err == nil && got.SessionManagerURL == "" && (got.User == "" || got.Password == "") {
			t.Errorf("%+v", got)
		}
		s.Problems()
	})
}

// One Secret has the accounts of several connections to one server, by the names of their sections; else by the server.
func TestSecretBySection(t *testing.T) {
	s := ParseSecret("s", bytesOf("be.username", "be@x", "be.password", "p", "192.0.2.4.username", "any", "192.0.2.4.password", "q"))
	for tenant, want := range map[string]string{"be": "be@x", "BE": "be@x", "ux": "any"} {
		got, err := s.For(VCenter{Tenant: tenant, Server: "192.0.2.4"}.SecretKeys()...)
		if err != nil || got.User != want {
			t.Errorf("%s: %+v, %v", tenant, got, err)
		}
	}
	if _, err := s.For("ux", "other"); err == nil || err.Error() != "no credentials: keys other.username and other.password are needed" {
		t.Error(err)
	}
}
