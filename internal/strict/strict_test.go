package strict_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
)

type thing struct {
	Name   string            `json:"name"`
	Count  int               `json:"count"`
	On     bool              `json:"on"`
	Share  float64           `json:"share"`
	Labels map[string]string `json:"labels"`
	Parts  []thing           `json:"parts"`
	Whole  *thing            `json:"whole"`
	Own    own               `json:"own"`
	Inner
}

type Inner struct {
	Deep string `json:"deep"`
}

// own reads itself.
type own string

func (o *own) DecodeYAML(_ *strict.Reader, node *yaml.Node, path string) {
	*o = own(path + "=" + node.Value)
}

func language() strict.Language {
	return strict.Language{Noun: "thing", APIVersion: "v1", Kind: "Thing", Size: 4096, Items: 5}
}

func TestDecode(t *testing.T) {
	const text = `
name: a
count: 3
on: yes
share: 0.5
labels: {x: 1, y: two}
parts: [{name: b, deep: c}, {count: 0}]
whole: {name: d, parts: []}
own: e
deep: f
`
	var got thing
	r := strict.NewReader("f.yaml", language())
	r.Decode(r.Parse([]byte(text)), &got, "")
	want := thing{
		Name: "a", Count: 3, On: true, Share: 0.5, Labels: map[string]string{"x": "1", "y": "two"},
		Parts: []thing{{Name: "b", Inner: Inner{"c"}}, {}}, Whole: &thing{Name: "d"}, Own: "own=e", Inner: Inner{"f"},
	}
	if diff := cmp.Diff(want, got); diff != "" || r.Err() != nil {
		t.Errorf("%v (-want +got):\n%s", r.Err(), diff)
	}
}

// Everything that is wrong is reported, each with its line, in the order of the file.
func TestRefused(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"empty":            {"", "1:1: is empty: a thing begins with apiVersion: v1 and kind: Thing"},
		"only a comment":   {"# x\n", "1:1: is empty: a thing begins with apiVersion: v1 and kind: Thing"},
		"too long":         {strings.Repeat("#", 4097), "1:1: is longer than the 4 KiB a thing may have"},
		"no text":          {"name: \xff", "1:7: is not UTF-8 text"},
		"control":          {"x: 1\nname: \x01", "2:7: holds the control character U+0001"},
		"tab":              {"whole:\n\tname: b", "2:1: is not YAML: indented with a tab, where YAML takes spaces only"},
		"syntax":           {"x: 1\nname: ]", "2:1: is not YAML: did not find expected node content"},
		"parameter":        {"x: 1\nwhole: {name: ${x}}", "2:15: is not YAML: did not find expected ',' or '}' (inside {…} and […], a parameter needs quotes: \"${x}\")"},
		"number":           {"x: 1\nparts: [{name: esx-{n}-a}]", "2:16: is not YAML: did not find expected ',' or '}' (inside {…} and […], a name with {n} needs quotes: \"esx-{n}-a\")"},
		"quoted number":    {"parts: [{name: \"esx-{n}\" b}]", "1:1: is not YAML: did not find expected ',' or '}'"},
		"no space":         {"whole:\n  name: a\n  count:3", "3:8: is not YAML: could not find expected ':' (a colon needs a space after it: \"count: 3\")"},
		"elsewhere":        {"whole: {parst: []}\nown: a\nblue: b", "1:9: whole.parst: unknown key (did you mean \"parts\"?)\n3:1: blue: unknown key"},
		"another's file":   {"apiVersion: v1\nkind: ConfigMap\ndata: {vsphere.conf: x}", "1:1: is a Kubernetes ConfigMap with a vsphere.conf in it, not a thing"},
		"second document":  {"name: a\n---\nname: b", "2:1: a second document begins here: a thing file holds one"},
		"no mapping":       {"[a]", `1:1: must be a mapping (key: value), not a list`},
		"unknown key":      {"nmae: a\nxyz: b", "1:1: nmae: unknown key (did you mean \"name\"?)\n2:1: xyz: unknown key"},
		"twice":            {"name: a\nname: b", "2:1: name: is given twice, first on line 1"},
		"key of no text":   {"{[a]: b}", "1:2: has a list for a key, where a word belongs"},
		"alias":            {"name: &x a\nwhole: {name: *x}", "2:15: whole.name: the alias *x is not supported: write the value out"},
		"merge":            {"whole: &x {name: a}\n<<: {name: a}", "2:1: merge keys are not supported: write the values out"},
		"kinds":            {"count: a\non: 5\nshare: x\nparts: 3\nwhole: 2020-01-01", "1:8: count: must be a whole number, not the text \"a\"\n2:5: on: must be yes or no, not the number 5\n3:8: share: must be a number, not the text \"x\"\n4:8: parts: must be a list (- item), not the number 3\n5:8: whole: must be a mapping (key: value), not the date 2020-01-01"},
		"no single value":  {"name: [a]\ncount: {a: b}", "1:7: name: must be a single value, not a list\n2:8: count: must be a single value, not a mapping"},
		"nothing in lists": {"parts:\n- name: a\n-", "3:2: parts[1]: is empty"},
		"too many items":   {"parts: [{}, {}, {}, {parts: [{}, {}]}]", "1:29: parts[3].parts: makes more than the 5 list items a thing may have"},
	} {
		t.Run(name, func(t *testing.T) {
			r := strict.NewReader("f.yaml", language())
			if root := r.Parse([]byte(tc.text)); root != nil {
				r.Decode(root, new(thing), "")
			}
			got := ""
			if err := r.Err(); err != nil {
				got = strings.ReplaceAll(err.Error(), "f.yaml:", "")
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestSubstitute(t *testing.T) {
	values := strict.Values{
		Known: map[string]strict.Value{"n": {Text: "3"}, "text": {Text: "3", Tag: "!!str"}, "big": {Text: strings.Repeat("x", 1000)}},
		Late:  map[string]bool{"later": true},
	}
	for text, want := range map[string]string{
		`a: ${n}`:                           "a: 3\n",
		`a: "${n}"`:                         "a: 3\n",
		`a: ${text}`:                        "a: \"3\"\n",
		`a: x${n}-${text}`:                  "a: x3-3\n",
		`a: $${n}`:                          "a: ${n}\n",
		`${n}: [b, {c: "${n}"}]`:            "${n}: [b, {c: 3}]\n",
		`a: ${later}${n}`:                   "a: ${later}${n}\n",
		`a: ${n`:                            "f.yaml:1:4: a: has ${ without a } after it ($${ stands for ${)",
		`a: [b, "${txt}"]`:                  `f.yaml:1:8: a[1]: there is no parameter "txt" ($${ stands for ${) (did you mean "text"?)`,
		`a: ${big}${big}${big}${big}${big}`: "f.yaml:1:4: a: makes the thing larger than 4 KiB with its parameters",
	} {
		r := strict.NewReader("f.yaml", language())
		root := r.Parse([]byte(text))
		made := r.Substitute(root, "", values)
		b, err := yaml.Marshal(made)
		got := string(b)
		if e := r.Err(); e != nil {
			got = e.Error()
		}
		if err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", text, got, err, want)
		}
		if again, _ := yaml.Marshal(root); strings.TrimSpace(string(again)) != text && !strings.Contains(text, "{c:") {
			t.Errorf("%s: was changed: %s", text, again)
		}
	}
}

// A file of nothing but unknown keys does not take long: hints end at some point.
func TestHintsEnd(t *testing.T) {
	var names []string
	for range 1000 {
		names = append(names, "somebody")
	}
	r := strict.NewReader("f.yaml", language())
	hints := 0
	for range 1000 {
		if r.Nearest("somebdy", names) != "" {
			hints++
		}
	}
	if hints < 100 || hints > 500 {
		t.Errorf("%d hints", hints)
	}
}

func TestLocate(t *testing.T) {
	r := strict.NewReader("f.yaml", language())
	root := r.Parse([]byte("a:\n- b\n- c: d\n"))
	for path, line := range map[string]int{"": 1, "a[0]": 2, "a[1].c": 3, "a[1].x": 3, "a[7]": 2, "x": 1} {
		if got := strict.Locate(root, path); got.Line != line {
			t.Errorf("%q is on line %d, want %d", path, got.Line, line)
		}
	}
}
