package config

import (
	"strings"
	"testing"
)

// No message contains a part of a password: neither a login before a host, nor a wrapped password that looks like keys, nor text
// that the YAML library quotes.
func TestPasswordsAreNotReported(t *testing.T) {
	const (
		global = "[Global]\nserver = vc\nuser = u\n"
		yaml   = "global:\n  user: u\nvcenter: {a: {server: vc}}\n"
	)
	for _, tc := range []struct{ name, text, want string }{
		{"host", "[Global]\nserver = \"https://root:hunter2@vc/sdk\"\nuser = u\npassword = p\n", `2: [Global] server: "https://…@vc/sdk": must be a host name`},
		{"host without a scheme", "[Global]\nserver = \"root:hunter2://@x@vc\"\nuser = u\npassword = p\n", `2: [Global] server: "…@vc": must be a host name`},
		{"section", "[VirtualCenter \"https://root:hunter2@vc\"]\nuser = u\npassword = p\n", `1: [VirtualCenter "https://…@vc"]: "https://…@vc": must be a host name`},
		{"key of a mapping", "global: {user: u, password: p}\nvcenter: {'root:hunter2@vc': {server: 'root:hunter2@vc'}}\n", `vcenter.…@vc.server: "…@vc": must be a host name`},
		{"wrapped", global + "password =\nhunter2!xyz\n", "5: a line begins with a [section], a key or a comment, is it the rest of the password?"},
		{"wrapped with an equals sign", global + "password = \"p\"\nhunter2-tail = x\n", "5: [Global] (a word after the password): unknown key"},
		{"wrapped, open quotes", global + "password = \"p\nhunter2\" x\n", "5: a line begins with a [section], a key or a comment"},
		{"wrapped, a word", global + "password = \"p\nhunter2\n", "5: [Global] (a word after the password): unknown key"},
		{"wrapped twice", global + "pasword = p\nhunter2a\nhunter2b = x\n", "6: [Global] (a word after the password): unknown key"},
		{"wrapped, a comment between", global + "password =\n# the new one\nhunter2 x\n", "6: a line begins with"},
		{"wrapped at a bracket", global + "password = p\n[hunter2\n", "5: section [… is not closed by ]"},
		{"wrapped at a digit", global + "password = p\n2hunter2\n", "5: a line begins with a [section], a key or a comment, is it"},
		{"before any section", "; old\npassword =\nhunter2 = x\n", "3: (a word after the password) is before the first section"},
		{"known after a password", global + "password = p\ninsecureFlag = true\nhunter = 1\n", "6: [Global] hunter: unknown key"},
		{"alias", strings.Replace(yaml, "u\n", "u\n  password: *hunter2\n", 1), " unknown anchor referenced, write a value that begins with * in quotes"},
		{"wrong tag", strings.Replace(yaml, "u\n", "u\n  password: !!int hunter2\n", 1), " cannot decode !!str text as a !!int"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Load("c", []byte(tc.text))
			if err == nil || !strings.Contains(err.Error(), "c:"+tc.want) && !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
}

func TestWithoutLogin(t *testing.T) {
	for host, want := range map[string]string{
		"vc": "vc", "https://vc/sdk": "https://vc/sdk", "u@vc": "u@vc", "u:p@vc": "…@vc", "https://u:p@q@vc:443": "https://…@vc:443",
		"[2001:db8::1]": "[2001:db8::1]", "https://u@vc": "https://u@vc", ":@": "…@",
	} {
		if got := withoutLogin(host); got != want {
			t.Errorf("%s: %s, want %s", host, got, want)
		}
	}
}
