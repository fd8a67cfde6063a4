package config

import (
	stdcmp "cmp"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The syntax is gcfg's.
func TestINIValues(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"plain", "password = abc", "abc"},
		{"no spaces", "password=abc", "abc"},
		{"many spaces", " \tca-file \t=\t  a b\t c  \t", "a b\t c"},
		{"upper case", "PassWord = abc", "abc"},
		{"equals sign", "password = a=b==", "a=b=="},
		{"comment", "password = abc ; no # no", "abc"},
		{"comment at once", "password = abc# no", "abc"},
		{"quotes", `password = " a;b#c "`, " a;b#c "},
		{"quotes in the middle", `password = a" ; "b" "  # no`, "a ; b "},
		{"escapes", `ca-file = "a\"b\\c\nd\te"`, "a\"b\\c\nd\te"},
		{"quote outside quotes", `password = a\"b`, `a"b`},
		{"continued", "password = abc\\\ndef", "abcdef"},
		{"continued, indented", "password = abc \\\n  def", "abc   def"},
		{"continued, Windows", "password = abc\\\r\ndef\r\n", "abcdef"},
		{"apostrophes are nothing special", "password = 'a'", "'a'"},
		{"unicode", "password = pässwörd ✓", "pässwörd ✓"},
		{"last line without end", "password = abc", "abc"},
		{"brackets", "password = [abc]", "[abc]"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			text := "\uFEFF# of old\n\n  ; more\n [ Global ] ; main\nserver = vc\nuser = u\n"
			if strings.Contains(tc.text, "ca-file") {
				text += "password = p\n"
			}
			cfg, err := Load("c", []byte(text+tc.text))
			if err != nil {
				t.Fatal(err)
			}
			if got := stdcmp.Or(cfg.VCenters[0].CAFile, cfg.VCenters[0].Password); got != tc.want || cfg.Format != INI {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

func TestINIErrors(t *testing.T) {
	const ok = "[Global]\nserver = vc\nuser = u\npassword = p\n"
	for _, tc := range []struct{ name, text, want string }{
		{"not closed", ok + "[Labels\nregion = r\n", `5: section [Labels is not closed by ]`},
		{"no name", ok + "[]\n", "5: a section has no name"},
		{"no quotes", ok + "[VirtualCenter vc]\nport = 1\n", `5: section [VirtualCenter is not closed by ], a second name needs quotes: [VirtualCenter "NAME"]`},
		{"empty name", ok + "[VirtualCenter \"\"]\n", `5: section [VirtualCenter ""] has an empty name`},
		{"open name", ok + "[VirtualCenter \"a]\n", "5: the quotes of a section's name are not closed"},
		{"bad escape in a name", ok + `[VirtualCenter "a\b"]`, `5: in a section's name, \ may only precede " and \`},
		{"after a header", ok + "[Labels] region = r\n", "5: nothing may follow the ] of a section"},
		{"no section", "; old\nuser = u\n" + ok, "2: user is before the first section"},
		{"unknown section", ok + "[Label]\nregion = r\n", "5: [Label]: unknown section, did you mean [Labels]?"},
		{"unknown section, nothing near", ok + "[Whatever]\n", "5: [Whatever]: unknown section"},
		{"second name", ok + "[Labels \"x\"]\n", `5: [Labels "x"]: this section has no second name`},
		{"unknown key", ok + "port = 1\nwhatever = x\n", "6: [Global] whatever: unknown key"},
		{"camel case", ok + "insecureFlag = true\n", "5: [Global] insecureFlag: unknown key, did you mean insecure-flag?"},
		{"in another section", ok + "region = r\n", "5: [Global] region: unknown key, did you mean [Labels] region?"},
		{"directory of a vCenter", ok + "[VirtualCenter \"b\"]\nsecrets-directory = /d\n", `6: [VirtualCenter "b"] secrets-directory: unknown key, did you mean [Global] secrets-directory?`},
		{"twice", ok + "PORT = 1\nport = 2\n", "6: [Global] port: is already set in line 5"},
		{"twice, section repeated", ok + "[Labels]\n[global]\nuser = x\n", "7: [global] user: is already set in line 3"},
		{"vCenter without a name", ok + "[VirtualCenter]\nport = 1\n", "5: [VirtualCenter]: a vCenter's section has its address or a name in quotes: [VirtualCenter \"192.0.2.1\"]"},
		{"no value", ok + "thumbprint\n", "5: [Global] thumbprint: has no value"},
		{"colon", ok + "port: 443\n", "5: after the key port comes =, not ':', is this meant to be YAML?"},
		{"not a key", ok + "port = 1\n= 443\n", "6: a line begins with a [section], a key or a comment, not with '='"},
		{"number", ok + "port = many\n", `5: [Global] port: must be a whole number, not "many"`},
		{"large number", ok + "port = 99999999999\n", `5: [Global] port: must be a whole number, not "99999999999"`},
		{"truth", ok + "insecure-flag = maybe\n", `5: [Global] insecure-flag: must be true or false, not "maybe"`},
		{"open quotes", "[Global]\nserver = vc\nuser = u\npassword = \"secret\n", "4: the quotes of the value of password are not closed"},
		{"backslash", "[Global]\nserver = vc\npassword = p\nuser = DOMAIN\\secret\n", `4: in the value of user, \ is outside quotes, write the value in quotes and \\ for a backslash`},
		{"backslash in quotes", "[Global]\nserver = vc\npassword = p\nuser = \"DOMAIN\\secret\"\n", `4: in the value of user, \ may only precede n, t, " and \, write \\ for a backslash`},
		{"nothing", "; only this\n", " file is empty"},
		{"no vCenter", "[Global]\nuser = u\npassword = p\n", " no vCenter is configured"},
		{"a mistake keeps its form", "[Global]\nserver: vc\n", "2: after the key server comes =, not ':', is this meant to be YAML?"},
		{"one header alone, open", "[Global\nserver = vc\n", "1: section [Global is not closed by ]"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Load("c", []byte(tc.text))
			if err == nil {
				t.Fatal("loaded")
			}
			// An unreadable value may also be reported as missing.
			first, _, _ := strings.Cut(err.Error(), "\n")
			if rest, _ := strings.CutPrefix(err.Error(), "c: [Global]: credentials"); !strings.Contains(err.Error(), "c:"+tc.want) || strings.Contains(rest, "secret\n") {
				t.Errorf("got %s, want %s", err, tc.want)
			}
			if n := strings.Count(err.Error(), "\n"); n > 1 {
				t.Errorf("more than that, first %s:\n%s", first, err)
			}
		})
	}
}

// The in-tree provider's two formats.
func TestInTree(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		want       []VCenter
		warnings   int
	}{
		{
			"old", "[Global]\nserver = vc\nport = 444\nuser = u\npassword = p\ninsecure-flag = 1\ndatacenter = dc, one\ndatastore = ds\nworking-dir = w\n[Disk]\nscsicontrollertype = pvscsi\n",
			[]VCenter{{Tenant: "vc", Server: "vc", Port: 444, User: "u", Password: "p", InsecureFlag: true, Datacenters: []string{"dc, one"}, SOAPRoundtripCount: 3, IPFamilies: []IPFamily{IPv4}}},
			4,
		},
		{
			"old, with a list", "[Global]\nserver = vc\nuser = u\npassword = p\ndatacenter = dc1\ndatacenters = dc2, dc3\n",
			[]VCenter{{Tenant: "vc", Server: "vc", Port: 443, User: "u", Password: "p", Datacenters: []string{"dc2", "dc3"}, SOAPRoundtripCount: 3, IPFamilies: []IPFamily{IPv4}}},
			1,
		},
		{
			"new", "[Global]\nuser = u\npassword = p\ndatacenter = dc1\n[VirtualCenter \"192.0.2.7\"]\n[VirtualCenter \"west\"]\nserver = \"[2001:db8::7]\"\nuser = w\n[Workspace]\nserver = 192.0.2.7\nfolder = f\n",
			[]VCenter{
				{Tenant: "192.0.2.7", Server: "192.0.2.7", Port: 443, User: "u", Password: "p", SOAPRoundtripCount: 3, IPFamilies: []IPFamily{IPv4}},
				{Tenant: "west", Server: "2001:db8::7", Port: 443, User: "w", Password: "p", SOAPRoundtripCount: 3, IPFamilies: []IPFamily{IPv4}},
			},
			2,
		},
		{
			"the global server is one of them", "[Global]\nserver = VC\nuser = u\npassword = p\n[VirtualCenter \"a\"]\nserver = vc\n",
			[]VCenter{{Tenant: "a", Server: "vc", Port: 443, User: "u", Password: "p", SOAPRoundtripCount: 3, IPFamilies: []IPFamily{IPv4}}},
			0,
		},
		{
			"the global server is one more", "[Global]\nserver = b\nuser = u\npassword = p\n[VirtualCenter \"a\"]\n",
			[]VCenter{
				{Tenant: "a", Server: "a", Port: 443, User: "u", Password: "p", SOAPRoundtripCount: 3, IPFamilies: []IPFamily{IPv4}},
				{Tenant: "b", Server: "b", Port: 443, User: "u", Password: "p", SOAPRoundtripCount: 3, IPFamilies: []IPFamily{IPv4}},
			},
			0,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := Load("c", []byte(tc.text))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got.VCenters); diff != "" || len(got.Warnings) != tc.warnings {
				t.Errorf("%q, (-want +got):\n%s", got.Warnings, diff)
			}
		})
	}
}

func FuzzINI(f *testing.F) {
	f.Add("server = vc\nuser = u\npassword = p")
	f.Add("[VirtualCenter \"a\"]\nip-family = ipv6\n[Labels]\nzone")
	f.Add("user = \"a\\\\\\\"b\\n\" \\\n x ; y\ndatacenter = d")
	f.Add("server = '\nuser = u\npassword = \" p\"\n[Nodes]\nexclude-internal-network-subnet-cidr = 10.0.0.0/8, ::/0\ninternal-vm-network-name = a: b")
	f.Add("secrets-directory = /d\n[VirtualCenter \"a: \\\"b\\\"\"]\nserver = fd01::1\n[Labels]\nregion = 1\nzone = ~\n[VirtualCenter \"c\"]\nuser = u\npassword = p")
	f.Fuzz(func(t *testing.T, text string) { loadTwice(t, "[Global]\n"+text) })
}

// loadTwice checks invariants of any file: it loads or fails with errors, and its normal form loads with the same result.
func loadTwice(t *testing.T, text string) {
	t.Helper()
	cfg, err := Load("c", []byte(text))
	if (cfg == nil) == (err == nil) {
		t.Fatalf("config %v, error %v", cfg, err)
	}
	if cfg == nil {
		return
	}
	again, err := cfg.YAML()
	if err != nil {
		t.Fatal(err)
	}
	second, err := Load("again", again)
	if err != nil {
		t.Fatalf("%v\n%s", err, again)
	}
	cfg.Format, cfg.Warnings, second.Warnings = YAML, nil, nil
	if fmt.Sprintf("%+v", cfg) != fmt.Sprintf("%+v", second) {
		t.Errorf("%+v, then %+v", cfg, second)
	}
}
