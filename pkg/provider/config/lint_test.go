package config

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// What YAML and INI make of a login that was written without their rules in mind is reported, with the line and how to write it.
// (finding A4: kubernetes/cloud-provider-vsphere#214, #287, vsphere-csi-driver#121, kubernetes-anywhere#415, eks-anywhere#3992,
// kubo-release#102, #180, vsphere-tmm/helm-charts#76, cluster-api-provider-vsphere#892, #979, #980, #3028, openshift/installer#6838)
func TestMangledLogins(t *testing.T) {
	const yaml, ini = "global:\n  user: u\n  password: p\n  %s\nvcenter: {a: {server: vc}}\n", "[Global]\n%s\n[VirtualCenter \"vc\"]\nuser = u\npassword = p\n"
	for _, tc := range []struct {
		name, form, line, want string
		warning                bool
	}{
		{"carriage return", yaml, `user: "lab.local\rancher"`, `has a carriage return (U+000D) after "lab.local", write 'lab.local\rancher'`, false},
		{"line break", yaml, `user: "CORP\nagios"`, `has a line break (U+000A) after "CORP", write 'CORP\nagios'`, false},
		{"backspace", yaml, `user: "LAB\backup"`, `has a control character (U+0008) after "LAB", write 'LAB\backup'`, false},
		{"NUL", yaml, `user: "LAB\0ps"`, `has a NUL character (U+0000) after "LAB", write 'LAB\0ps'`, false},
		{"next line", yaml, `user: "LAB\Nick"`, `has a control character (U+0085) after "LAB", write 'LAB\Nick'`, false},
		{"password", yaml, `password: "hush\tool"`, "has a tab (U+0009), write the value in single quotes", false},
		{"space", yaml, `password: "hush\_x"`, `\_ in double quotes is an escape of YAML and stands for another character, write the value in single quotes`, true},
		{"hexadecimal", yaml, `user: "LAB\x41nna"`, `\x in double quotes is an escape of YAML and stands for another character, write 'LAB\x41nna'`, true},
		{"unknown escape", yaml, `user: "CORP\svc"`, "found unknown escape character, in double quotes a backslash begins an escape: write the value in single quotes", false},
		{"escape of Unicode", yaml, `user: "CORP\user1"`, `did not find expected hexdecimal number, in double quotes \x and \u begin an escape: write the value in single quotes`, false},
		{"at sign", yaml, `password: @hush`, "found character that cannot start any token, if a value begins with it, write the value in single quotes", false},
		{"percent", yaml, `password: %hush`, "found character that cannot start any token, if a value begins with it, write the value in single quotes", false},
		{"block", yaml, "password: |\n    hush", "is a block that ends with a line break, which is left out here and not by upstream's provider, write it on the line of its key", true},
		{"folded block", yaml, "password: >\n    hush", "is a block that ends with a line break", true},
		{"block of two lines", yaml, "password: |-\n    hush\n    hush", "has a line break (U+000A)", false},
		{"tag", yaml, "password: !bang two", "begins after a tag: YAML takes a word with ! at its beginning as one, if ! belongs to the value, write the value in single quotes", true},
		{"anchor", yaml, "password: &anc two", "begins after an anchor: YAML takes a word with & at its beginning as one, if & belongs to the value, write the value in single quotes", true},
		{"comment", yaml, "password: a #b", "ends before the # of a comment, if # belongs to the value, write the value in single quotes", true},
		{"quotes in quotes", yaml, `password: "'hush'"`, "has ' at both ends as a part of the value, leave the inner ones out", true},
		{"only a tag", yaml, "password: !bang", "has no value, text that begins with ! is a tag of YAML: write the value in single quotes", false},
		{"only an anchor", yaml, "password: &amp1", "has no value, text that begins with & is an anchor of YAML: write the value in single quotes", false},
		{"only a comment", yaml, "password: #hush", "has no value, text that begins with # is a comment: write the value in single quotes", false},
		{"null", yaml, "password: null", "has no value, null stands for nothing in YAML: write the value in single quotes", false},
		{"tilde", yaml, "password: ~", "has no value, ~ stands for nothing in YAML: write the value in single quotes", false},

		{"INI, tab", ini, `user = "lab.local\tanzu"`, `has a tab (U+0009) after "lab.local", write \\ for a backslash`, false},
		{"INI, number sign", ini, `password = Win#ter;2024`, `ends before the comment sign that follows, if it belongs to the value, write the whole value in "quotes"`, true},
		{"INI, comment", ini, `password = hush ; of the lab`, "ends before the comment sign that follows", true},
		{"INI, apostrophes", ini, `user = 'svc@corp.test'`, `has ' at both ends as a part of the value, INI has only "quotes": write these, or none`, true},
		{"INI, list in apostrophes", ini, `datacenters = 'Main'`, "has ' at both ends as a part of the value", true},
		{"INI, comment at a datacenter", ini, `datacenters = Main#2`, "ends before the comment sign that follows", true},
		{"INI, quotes inside", ini, `password = a"b"c`, `has quotation marks in it, which are left out, write the whole value in "quotes", and \" for a quotation mark`, true},
		{"INI, continued", ini, "password = hush\\\nmore", "continues in the next line, because its line ends with a backslash", true},
		{"INI, only a comment", ini, "password = #Winter", `has no value, text that begins with # or ; is a comment: write the value in "quotes"`, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			text := fmt.Sprintf(tc.form, tc.line)
			if key, _, _ := strings.Cut(tc.line, ":"); tc.form == yaml { // it is set once
				text = strings.Replace(text, "  "+key+": "+key[:1]+"\n", "", 1)
			}
			if tc.form == ini && strings.Contains(tc.want, "no value") {
				text = strings.Replace(text, "\npassword = p", "", 1)
			}
			line := 1 + strings.Count(text[:strings.Index(text, tc.line)], "\n")
			cfg, problems := Check("c", []byte(text))
			i := slices.IndexFunc(problems, func(p Problem) bool { return strings.Contains(p.Message+", "+p.Hint, tc.want) })
			if i < 0 || problems[i].Line != line || problems[i].Warning != tc.warning || problems[i].Suspect != tc.warning || (cfg != nil) != tc.warning {
				t.Errorf("line %d, config %v, got:\n%v", line, cfg != nil, problems)
			}
			for _, p := range problems {
				if strings.Contains(p.String(), "hush") {
					t.Errorf("tells the password: %s", p)
				}
			}
		})
	}
}

// A login that is written as YAML and INI want it, and what else looks like a slip, causes no warning.
func TestNoFalseAlarm(t *testing.T) {
	for _, text := range []string{
		"global: {user: 'LAB\\rancher', password: \"a\\\\b\\\"c\"} # login\nvcenter: {a: {server: vc}}\n",
		"global:\n  user: LAB\\rancher\n  password: 'x' # secret\nvcenter: {a: {server: vc}}\n",
		"global:\n  user: &u admin\n  password: p\nvcenter: {a: {server: vc, user: *u}}\n",
		"global:\n  user: u\n  password: !!str 123\nvcenter: {a: {server: vc}}\n",
		"global:\n  user: u\n  password: |-\n    hush\nvcenter: {a: {server: vc}}\n",
		"global:\n  user: |\n    -----BEGIN CERTIFICATE-----\n    MIIB\n    -----END CERTIFICATE-----\n  password: |\n    -----BEGIN RSA PRIVATE KEY-----\n    MIIB\n    -----END RSA PRIVATE KEY-----\nvcenter: {a: {server: vc}}\n",
		"[Global]\nuser = \"LAB\\\\rancher\" ; of the lab\npassword = \"a#b;c\" # secret\nport = 443 ; usual\ndatacenters = Main ; one\n[VirtualCenter \"vc\"]\n",
		"[Global]\nuser = it's\npassword = 'n\n[VirtualCenter \"vc\"]\n",
	} {
		cfg, problems := Check("c", []byte(text))
		if cfg == nil || len(problems) > 0 {
			t.Errorf("%v\n%s", problems, text)
		}
	}
}

// style is a way in which people write a value.
type style struct {
	name string
	ini  bool
	// write returns the text behind the key's sign, and whether a person would write the value in this way at all.
	write func(password string) (string, bool)
}

// styles are the quoting styles, with and without knowledge of the rules. A sequence that is the rule's own escape counts as
// meant as that, and so do quotation marks around the whole.
func styles() []style {
	plain := func(p string) (string, bool) {
		return p, !strings.ContainsAny(p[:1], `'" `) && strings.TrimSpace(p) == p
	}
	return []style{
		{"YAML, plain", false, plain},
		{"YAML, single quotes", false, func(p string) (string, bool) { return "'" + strings.ReplaceAll(p, "'", "''") + "'", true }},
		{"YAML, single quotes around", false, func(p string) (string, bool) { return "'" + p + "'", !strings.Contains(p, "'") }},
		{"YAML, double quotes", false, func(p string) (string, bool) {
			return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(p) + `"`, true
		}},
		{"YAML, double quotes around", false, func(p string) (string, bool) {
			return `"` + p + `"`, !strings.Contains(p, `\\`) && !strings.Contains(p, `\"`)
		}},
		{"YAML, block", false, func(p string) (string, bool) { return "|\n    " + p, p[0] != ' ' }},
		{"INI, plain", true, plain},
		{"INI, quotes", true, func(p string) (string, bool) {
			return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(p) + `"`, true
		}},
		{"INI, quotes around", true, func(p string) (string, bool) {
			return `"` + p + `"`, !strings.Contains(p, `\\`) && !strings.Contains(p, `\"`)
		}},
		{"INI, apostrophes around", true, func(p string) (string, bool) { return "'" + p + "'", !strings.Contains(p, `\"`) }},
	}
}

// Of 2,000 passwords in every quoting style, what is sent is what was meant, or the file is refused, or there is a warning at
// its line.
func TestPasswordsAsMeant(t *testing.T) {
	const seed = 21
	random := rand.New(rand.NewPCG(seed, seed))
	pieces := strings.Split("a b c D E 7 0 x u n t r N / # ; : , ' \" \\ ! & * @ ` % $ { } [ ] ( ) < > | ? - ~ = + ^ _ . ä ß ✓", " ")
	whole := strings.Split("null ~ true 0x1F 1e3 Win#ter a:b lab.local\\rancher CORP\\user1 - -- ? <<", " ")
	pieces = append(pieces, " #", ": ", " ", " ;", "\\n", "\\u0041", "''", `""`)
	silent, sent, warned, refused := 0, 0, 0, 0
	for n := range 2000 {
		var password string
		if n < len(whole) {
			password = whole[n]
		} else {
			for range 1 + random.IntN(12) {
				password += pieces[random.IntN(len(pieces))]
			}
		}
		if strings.TrimSpace(password) == "" || !utf8.ValidString(password) {
			continue
		}
		for _, s := range styles() {
			written, would := s.write(password)
			if !would {
				continue
			}
			text := "global:\n  user: u\n  password: " + written + "\nvcenter: {a: {server: vc}}\n"
			if s.ini {
				text = "[Global]\nuser = u\npassword = " + written + "\n[VirtualCenter \"vc\"]\n"
			}
			cfg, problems := Check("c", []byte(text))
			warns := slices.ContainsFunc(problems, func(p Problem) bool { return p.Suspect && p.Line == 3 })
			switch {
			case cfg == nil && len(problems) > 0:
				refused++
			case warns:
				warned++
			case cfg.VCenters[0].Password == password:
				sent++
			default:
				silent++
				t.Errorf("%s: %s\nmeans %q, is sent as %q without a word", s.name, written, password, cfg.VCenters[0].Password)
			}
			if silent > 20 {
				t.FailNow()
			}
		}
	}
	t.Logf("%d sent as meant, %d with a warning, %d refused", sent, warned, refused)
}
