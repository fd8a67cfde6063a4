package scenario

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/source"
)

const head = "apiVersion: sandbox.vsphere/v1alpha1\nkind: Scenario\n"

// files are scenarios of two themes.
func files() fstest.MapFS {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(head + text)} }
	return fstest.MapFS{
		"single.yaml": file("not: looked at"),
		"outages/away.yaml": file(`# A vCenter is away.
metadata: {name: away, description: a vCenter is away, labels: {suite: core}}
reported: [cloud-provider-vsphere#479, kubernetes#1]
parameters:
  - {name: vcenter, default: eu, description: the one}
topology: zones-us-eu
steps:
  - expect: {vcenter: "${vcenter}", gate: up}
    within: 1s
`),
		"outages/far-away.yaml": file("metadata: {name: far-away}\ntopology: single\nsteps:\n  - {note: nothing happens}\n"),
		"zones/none.yaml":       file("metadata: {name: none, description: no zones, labels: {suite: \"core, full\"}}\ntopology: zones-us-eu\nsteps:\n  - {note: nothing happens}\n"),
	}
}

func TestList(t *testing.T) {
	for _, format := range []string{"table", "wide", "json", "name"} {
		e := clitest.NewEnv(nil)
		cmd := NewCmdList(e.Deps, func(o *listOptions) error {
			o.catalogue = catalogue{files()}
			return list(o)
		})
		if r := e.Run(t.Context(), cmd, "-o", format); r.Exit != 0 {
			t.Fatalf("ended with %+v", r)
		}
		clitest.Golden(t, "list."+format, e.Out.String())
	}
}

func TestListSome(t *testing.T) {
	for _, tc := range []struct{ args, want, try string }{
		{"outages", "scenario/away\nscenario/far-away\n", ""},
		{"--suite core", "scenario/away\nscenario/none\n", ""},
		{"--suite full outages", "", ""},
		{"outage", "", "vsphere-sandbox scenario list outages"},
	} {
		e := clitest.NewEnv(nil)
		cmd := NewCmdList(e.Deps, func(o *listOptions) error {
			o.catalogue = catalogue{files()}
			return list(o)
		})
		r := e.Run(t.Context(), cmd, append(strings.Fields(tc.args), "-o", "name")...)
		if d := cmp.Diff(tc.want, e.Out.String()); d != "" || r.Try != tc.try {
			t.Errorf("%s: %+v %s", tc.args, r, d)
		}
	}
}

func TestShow(t *testing.T) {
	for _, tc := range []struct{ name, want, try string }{
		{"away", "# A vCenter is away.", ""},
		{"outages/away", "# A vCenter is away.", ""},
		{"awy", "", "vsphere-sandbox scenario show away"},
		{"./nothing.yaml", "", "vsphere-sandbox scenario list, or name a file that is there"},
	} {
		e := clitest.NewEnv(nil)
		r := e.Run(t.Context(), NewCmdShow(e.Deps, func(o *showOptions) error {
			o.catalogue = catalogue{files()}
			return show(o)
		}), tc.name)
		if !strings.Contains(e.Out.String(), tc.want) || r.Try != tc.try || (r.Exit == 0) != (tc.want != "") {
			t.Errorf("%s: %+v\n%s", tc.name, r, e.Out)
		}
	}
}

func TestValidate(t *testing.T) {
	dir := t.TempDir() + "/"
	for name, text := range map[string]string{
		"good.yaml": "metadata: {name: good}\ntopology: single\nsteps:\n  - {note: x}\n",
		"bad.yaml":  "metadata: {name: bad}\ntopology: singel\nsteps:\n  - {inject: vcenter.dwn}\n",
	} {
		if err := os.WriteFile(dir+name, []byte(head+text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, format := range []string{"text", "json"} {
		e := clitest.NewEnv(nil)
		args := []string{dir + "good.yaml", dir + "bad.yaml", dir + "nothing.yaml"}
		if format != "text" {
			args = append(args, "-o", format)
		}
		r := e.Run(t.Context(), NewCmdValidate(e.Deps, nil), args...)
		if r.Exit != report.Usage {
			t.Errorf("ended with %+v", r)
		}
		clitest.Golden(t, "validate."+format, strings.ReplaceAll(e.Out.String()+r.Message, dir, ""))
	}
}

func TestChoice(t *testing.T) {
	dir := t.TempDir()
	mine := filepath.Join(dir, "mine.yaml")
	if err := os.WriteFile(mine, []byte(head+"metadata: {name: mine}\ntopology: single\nsteps:\n  - {note: x}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	set := source.Settings{{Name: "vcenter", Value: "us"}}
	for _, tc := range []struct {
		name   string
		choice choice
		set    source.Settings
		want   string
		called string
		try    string
	}{
		{name: "a theme", choice: choice{words: []string{"outages"}}, want: "away far-away", called: "outages"},
		{name: "names, one twice", choice: choice{words: []string{"none", "away", "outages/away"}}, want: "none away", called: "scenarios"},
		{name: "a file", choice: choice{words: []string{mine}}, want: "mine", called: "mine"},
		{name: "a suite", choice: choice{suite: "core"}, want: "away none", called: "core"},
		{name: "all", choice: choice{all: true}, want: "away far-away none", called: "all"},
		{name: "with a setting", choice: choice{all: true}, set: set, want: "away far-away none", called: "all"},
		{name: "a setting for none", choice: choice{words: []string{"none"}}, set: set, called: "none", try: "vsphere-sandbox scenario show none"},
		{name: "an unknown suite", choice: choice{suite: "moon"}, called: "moon", try: "vsphere-sandbox scenario list"},
		{name: "a typo", choice: choice{words: []string{"farawy"}}, called: "farawy", try: "vsphere-sandbox scenario run far-away"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			list, err := tc.choice.load(catalogue{files()}, tc.set)
			var names []string
			for _, s := range list {
				names = append(names, s.Metadata.Name)
				if v := s.Values["vcenter"]; len(tc.set) > 0 && s.Metadata.Name == "away" && v != "us" {
					t.Errorf("vcenter is %q", v)
				}
			}
			if got := strings.Join(names, " "); got != tc.want || tc.choice.name() != tc.called || report.Of(err).Try != tc.try || (err != nil) != (tc.try != "") {
				t.Errorf("%q, called %q, %+v", got, tc.choice.name(), report.Of(err))
			}
		})
	}
}

func TestCompletion(t *testing.T) {
	c := catalogue{files()}
	if words, _ := c.completeWords(0)(nil, []string{"away"}, ""); strings.Join(words, " ") != "outages zones far-away none" {
		t.Errorf("words: %q", words)
	}
	if words := clitest.Completions(t, c.completeThemes); strings.Join(words, " ") != "outages zones" {
		t.Errorf("themes: %q", words)
	}
}
