package config

import (
	"path/filepath"
	"strings"
	"testing"
)

// The sources of credentials: a vCenter's own have priority, then the global Secret or directory, then the global user.
func TestCredentialsOf(t *testing.T) {
	dir := t.TempDir()
	for _, tc := range []struct{ name, global, own, fallback, want string }{
		{"global user", "user: u, password: p", "", "", "u:p"},
		{"own user, global password", "user: u, password: p", "user: w", "", "w:p"},
		{"own before a global Secret", "secretName: s, secretNamespace: n", "user: w, password: x", "", "w:x"},
		{"own before a global directory", "secretsDirectory: /d", "user: w, password: x", "", "w:x"},
		{"own Secret", "user: u, password: p", "secretName: s, secretNamespace: n", "", "n/s"},
		{"own Secret before its user", "user: u, password: p", "user: w, password: x, secretName: s, secretNamespace: n", "", "n/s"},
		{"own Secret before a directory", "secretsDirectory: /d", "secretName: s, secretNamespace: n", "", "n/s"},
		{"global Secret before the user", "user: u, password: p, secretName: s, secretNamespace: n", "", "", "n/s"},
		{"directory before the user", "user: u, password: p, secretsDirectory: /d", "", "", "/d"},
		{"empty is absent", "user: u, password: p, secretName: '', secretsDirectory: ~", "user: ''", "", "u:p"},
		{"nothing", "port: 1", "", "", "credentials are missing"},
		{"nothing but a fallback", "port: 1", "", dir, dir},
		{"a fallback that is not there", "port: 1", "", filepath.Join(dir, "nosuch"), "credentials are missing"},
		{"no fallback for half", "user: u", "", dir, "credentials are missing"},
		{"a fallback that is not needed", "user: u, password: p", "", dir, "u:p"},
		{"half a Secret", "user: u, password: p", "secretNamespace: n", "", "vcenter.a.secretNamespace: a Secret's name and namespace must be set together"},
		{"half a global Secret", "user: u, password: p, secretName: s", "", "", "global.secretName: a Secret's name and namespace must be set together"},
		{"Secret and directory", "secretsDirectory: /d, secretName: s, secretNamespace: n", "", "", "global.secretsDirectory: credentials cannot come from a directory and from a Secret, keep one of the two"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cfg, err := Load("c", []byte("global: {"+tc.global+"}\nvcenter: {a: {server: vc, "+tc.own+"}}"), WithDefaultSecrets(tc.fallback))
			got := ""
			switch {
			case err != nil:
				got = err.Error()
				if strings.Contains(got, "\n") || !strings.Contains(got, tc.want) {
					t.Errorf("%s, want %s", got, tc.want)
				}
				return
			case cfg.VCenters[0].Secret != SecretRef{}:
				got = cfg.VCenters[0].Secret.Namespace + "/" + cfg.VCenters[0].Secret.Name
			case cfg.VCenters[0].SecretsDirectory != "":
				got = cfg.VCenters[0].SecretsDirectory
			}
			if vc := cfg.VCenters[0]; vc.User != "" {
				got += vc.User + ":" + vc.Password
			}
			if got != tc.want {
				t.Errorf("%s, want %s", got, tc.want)
			}
		})
	}
}

func TestValues(t *testing.T) {
	for _, tc := range []struct{ own, want string }{
		{"server: vc", ""},
		{"server: 192.0.2.7", ""},
		{"server: 'fd01::1'", ""},
		{"server: '[fd01::1]'", ""},
		{"server: 'vc:8443'", `"vc:8443": must be a host name or address without scheme, port or path, write vc and port 8443`},
		{"server: 'https://vc/sdk'", `"https://vc/sdk": must be a host name or address`},
		{"server: 'vc '", `"vc ": must be a host name or address`},
		{"server: [vc]", "vcenter.a.server: must be text, not a list"},
		{"server: vc, port: 65536", "65536 is out of range"},
		{"server: vc, port: '443'", `must be a whole number, not the text "443", leave the quotes out`},
		{"server: vc, port: 4.5", "must be a whole number, not the number 4.5"},
		{"server: vc, insecureFlag: 'true'", `must be true or false, not the text "true", leave the quotes out`},
		{"server: vc, insecureFlag: {}", "must be true or false, not a mapping"},
		{"server: vc, datacenters: 'dc1, dc2'", `must be a list, not the text "dc1, dc2", write [dc1, dc2]`},
		{"server: vc, datacenters: {a: b}", "must be a list, not a mapping"},
		{"server: vc, datacenters: [[a]]", "vcenter.a.datacenters: an entry must be text, not a list"},
		{"server: vc, datacenters: [a, ' ']", ""},
		{"server: vc, datacenters: [a, ~]", ""},
		{"server: vc, datacenters: [a, 'a ']", `"a" is listed twice`},
		{"server: vc, datacenters: ['Folder:group-d1']", `"Folder:group-d1" is a Folder, not a Datacenter`},
		{"server: vc, datacenters: ['a:b', 7]", ""},
		{"server: vc, password: {x: hush}", "vcenter.a.password: must be text, not a mapping"},
		{"server: vc, region: x", "vcenter.a.region: unknown key, did you mean labels.region?"},
		{"server: vc, secretsDirectory: x", "vcenter.a.secretsDirectory: unknown key, did you mean global.secretsDirectory?"},
		{`server: vc, "in\nsecure": x`, `vcenter.a."in\nsecure": unknown key`},
		{"server: vc, ? [x] : y", "c:2: a key must be text, not a list"},
	} {
		t.Run(tc.own, func(t *testing.T) {
			_, err := Load("c", []byte("global: {user: u, password: p}\nvcenter: {a: {"+tc.own+"}}"))
			if (err == nil) != (tc.want == "") || err != nil && (!strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "\nc:")) {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
	cfg, err := Load("c", []byte("global: {server: vc, user: u, password: p, datacenters: ['a,b']}"))
	if err != nil || len(cfg.Warnings) != 1 || cfg.VCenters[0].Datacenters[0] != "a,b" {
		t.Errorf("%+v, %v", cfg, err)
	}
}

// Anchors, merges, documents and characters.
func TestYAML(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"merge", "global: &g {user: u, password: p}\nvcenter: {a: {<<: *g, server: vc, user: w}, b: {<<: [*g], server: vc2}}", "w@vc u@vc2"},
		{"alias", "global: {user: &u u, password: *u}\nvcenter: {a: &a {server: vc}}", "u@vc"},
		{"byte order mark", "\uFEFFglobal: {server: vc, user: u, password: p}", "u@vc"},
		{"end of document", "---\nglobal: {server: vc, user: u, password: p}\n...\n", "u@vc"},
		{"JSON", `{"global": {"server": "vc", "user": "u", "password": "p"}}`, "u@vc"},
		{"text that looks like none", "global: {server: vc, user: 0123, password: true}", "0123@vc"},
		{"two documents", "global: {server: vc, user: u, password: p}\n---\nx: 1\n", "c: file has a second document, which would be ignored"},
		{"a comment of INI is not YAML", "; x\n[Global]\nserver=vc\nuser=u\npassword=p\n", "u@vc"},
		{"tab", "global:\n\tserver: vc\n", "c:2: found character that cannot start any token, indent with spaces, not with tabs"},
		{"a mistake is one of YAML", "global:\n  server: vc\n  user: u\n password: p\n", "c:4: did not find expected key"},
		{"no section", "user = u\n", "c:1: must be a mapping, not the text \"user = u\", is this an INI file without its first section?"},
		{"names of INI", "Global: {}\nVirtualCenter: {}\n", "c:1: Global: unknown key, did you mean global?\nc:2: VirtualCenter: unknown key, did you mean vcenter?"},
		{"cycle", "global: &a {user: *a}\n", "c: anchor value contains itself"},
		{"not UTF-8", "global: \xff", "c: file is not UTF-8 text"},
		{"tenant without a name", "global: {user: u, password: p}\nvcenter: {'': {server: vc}}", "c:2: vcenter.\"\": the vCenter's name is empty"},
		{"not vCenters", "global: {user: u, password: p}\nvcenter: [{server: vc}]", "c:2: vcenter: must be a mapping, not a list"},
		{"a key twice", "global: {server: vc, user: u, password: p}\nlabels: {region: 1, region: 2}", "c:2: mapping key \"region\" already defined at line 2"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cfg, err := Load("c", []byte(tc.text))
			got := ""
			if err != nil {
				got = err.Error()
			} else {
				for _, vc := range cfg.VCenters {
					got += " " + vc.User + "@" + vc.Server
				}
				got = got[1:]
			}
			if got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

// Several connections to one server are what they say; only the same one again is worth a warning.
// (kubernetes/cloud-provider-vsphere#233, #241; finding A3)
func TestSeveralConnections(t *testing.T) {
	for _, tc := range []struct{ name, sections, warning string }{
		{"accounts", "a: {server: vc, user: x}, b: {server: vc, user: y}", ""},
		{"datacenters", "a: {server: vc, datacenters: [x]}, b: {server: VC, datacenters: [y]}", ""},
		{"ports", "a: {server: 127.0.0.1, port: 8989}, b: {server: 127.0.0.1, port: 8990}", ""},
		{"Secrets", "a: {server: vc, secretName: x, secretNamespace: n}, b: {server: vc, secretName: y, secretNamespace: n}", ""},
		{"the same again", "a: {server: vc}, b: {server: VC.}", "c:2: vcenter.b: is the same connection as vcenter.a: one of them is enough"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cfg, err := Load("c", []byte("global: {user: u, password: p}\nvcenter: {"+tc.sections+"}\n"))
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(cfg.Warnings, "\n"); got != tc.warning || len(cfg.VCenters) != 2 {
				t.Errorf("%d vCenters, warnings %q, want %q", len(cfg.VCenters), got, tc.warning)
			}
		})
	}
}
