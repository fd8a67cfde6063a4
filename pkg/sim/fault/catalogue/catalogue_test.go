package catalogue

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
)

var update = flag.Bool("update", false, "rewrite docs/faults.md")

// The page is what the kinds say.
func TestPage(t *testing.T) {
	const path = "../../../../docs/faults.md"
	if *update {
		if err := os.WriteFile(path, []byte(renderPage()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(renderPage(), string(page)); d != "" {
		t.Errorf("docs/faults.md is stale: run go test ./pkg/sim/fault/catalogue -update\n%s", d)
	}
}

// Every kind has all documented fields, in the same form.
func TestKinds(t *testing.T) {
	name := regexp.MustCompile(`^[a-z]+(-[a-z]+)*\.[a-z0-9]+(-[a-z0-9]+)*$`)
	param := regexp.MustCompile(`^[a-z]+(-[a-z0-9]+)*$`)
	objects := []fault.Object{
		fault.VM, fault.Host, fault.Cluster, fault.Datacenter, fault.Datastore, fault.Volume, fault.Zone, fault.VCenter, fault.NSX, fault.Node, fault.Component, fault.Sandbox,
	}
	types := []fault.Type{fault.Text, fault.Duration, fault.Number, fault.Fraction, fault.Bool}
	needs := []fault.Need{fault.Simulator, fault.Gated, fault.Kubelets, fault.Children, fault.Clustered, fault.Supervised, fault.Network}
	seen := map[string]bool{}
	for _, k := range Kinds() {
		t.Run(k.Name, func(t *testing.T) {
			if !name.MatchString(k.Name) || seen[k.Name] {
				t.Error("the name is not dotted lower case, or is there twice")
			}
			seen[k.Name] = true
			switch {
			case k.Short == "", strings.HasSuffix(k.Short, "."), strings.ContainsAny(k.Short, "\n"), len(k.Short) > 120,
				k.Short != "" && strings.ToLower(k.Short[:1]) != k.Short[:1] && !strings.HasPrefix(k.Short, "API"):
				t.Errorf("short help %q is not one line in the third person without a period", k.Short)
			}
			if strings.TrimSpace(k.Long) == "" {
				t.Error("there is no long help")
			}
			if !slices.Contains(objects, k.Object) {
				t.Errorf("it happens to %q", k.Object)
			}
			for _, n := range k.Needs {
				if !slices.Contains(needs, n) {
					t.Errorf("it needs %q", n)
				}
			}
			for _, r := range k.Reported {
				if URL(r) == "" {
					t.Errorf("reported %q is no issue like cloud-provider-vsphere#642", r)
				}
			}
			var params []string
			for _, p := range k.Params {
				if !param.MatchString(p.Name) || slices.Contains(params, p.Name) {
					t.Errorf("parameter %q is not kebab case, or is there twice", p.Name)
				}
				params = append(params, p.Name)
				if p.Short == "" || strings.HasSuffix(p.Short, ".") || !slices.Contains(types, p.Type) {
					t.Errorf("parameter %s: short help %q, type %q", p.Name, p.Short, p.Type)
				}
				if p.Required && p.Default != "" || p.Default != "" && len(p.Choices) > 0 && !slices.Contains(p.Choices, p.Default) {
					t.Errorf("parameter %s: default %q", p.Name, p.Default)
				}
			}
		})
	}
}

func TestThemes(t *testing.T) {
	var names []string
	for _, theme := range Themes() {
		if theme.Title == "" || len(theme.Kinds) == 0 || slices.Contains(names, theme.Name) {
			t.Errorf("theme %+v", theme)
		}
		names = append(names, theme.Name)
		if !slices.IsSortedFunc(theme.Kinds, func(a, b *fault.Kind) int { return strings.Compare(a.Name, b.Name) }) {
			t.Errorf("theme %s is not sorted", theme.Name)
		}
		if found, err := FindTheme(theme.Name); err != nil || found.Title != theme.Title {
			t.Errorf("theme %s: %v", theme.Name, err)
		}
	}
	if len(Names()) != len(Kinds()) {
		t.Error("names and kinds differ")
	}
}

func TestFind(t *testing.T) {
	for _, k := range Kinds() {
		if found, err := Find(k.Name); err != nil || found.Name != k.Name {
			t.Errorf("%s: %v", k.Name, err)
		}
	}
	for _, tc := range []struct{ name, want string }{
		{"vcenter.latncy", `fault "vcenter.latncy" not found; did you mean "vcenter.latency"?`},
		{"xyzzy", `fault "xyzzy" not found`},
	} {
		_, err := Find(tc.name)
		var refusal *fault.Refusal
		if !errors.As(err, &refusal) || refusal.Code != "not-found" || err.Error() != tc.want {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
	if _, err := FindTheme("ap"); err == nil || !strings.HasSuffix(err.Error(), `did you mean "api"?`) {
		t.Errorf("theme: %v", err)
	}
}

func TestURL(t *testing.T) {
	for reported, want := range map[string]string{
		"cloud-provider-vsphere#642":    "https://github.com/kubernetes/cloud-provider-vsphere/issues/642",
		"kubernetes#64021":              "https://github.com/kubernetes/kubernetes/issues/64021",
		"siderolabs/talos-vmtoolsd#11":  "https://github.com/siderolabs/talos-vmtoolsd/issues/11",
		"somebody said so":              "",
		"cloud-provider-vsphere#":       "",
		"unknown#1":                     "",
		"cloud-provider-vsphere#12 foo": "",
	} {
		if got := URL(reported); got != want {
			t.Errorf("%s: %s, want %s", reported, got, want)
		}
	}
}

// renderPage returns the page docs/faults.md.
func renderPage() string {
	var b strings.Builder
	b.WriteString(`# Faults

What can be broken on purpose, and put right again. This page is printed from the kinds of
[pkg/sim/fault](../pkg/sim/fault); ` + "`vsphere-sandbox fault describe KIND`" + ` prints the same in a terminal.

A fault is a lease: ` + "`vsphere-sandbox fault inject KIND [TARGET...]`" + ` plans it, and refuses what cannot be; writes down what
was before; and only then changes something. ` + "`fault heal`" + ` puts that back, as the end of ` + "`--for`" + ` and of the sandbox do.
Targets and accounts may be [patterns](patterns.md).
A ⚡ fault is over as soon as it has happened, and there is nothing to heal.

`)
	b.WriteString("| theme | faults |\n|---|---|\n")
	for _, t := range Themes() {
		names := make([]string, len(t.Kinds))
		for i, k := range t.Kinds {
			names[i] = "[`" + k.Name + "`](#" + anchor(k.Name) + ")"
		}
		fmt.Fprintf(&b, "| [%s](#%s) | %s |\n", t.Title, anchor(t.Title), strings.Join(names, " "))
	}
	for _, t := range Themes() {
		fmt.Fprintf(&b, "\n## %s\n", t.Title)
		for _, k := range t.Kinds {
			describe(&b, k)
		}
	}
	return b.String()
}

// describe prints the section of a kind.
func describe(b *strings.Builder, k *fault.Kind) {
	fmt.Fprintf(b, "\n### %s\n\n", k.Name)
	if k.Momentary {
		b.WriteString("⚡ ")
	}
	fmt.Fprintf(b, "%s%s.\n", strings.ToUpper(k.Short[:1]), k.Short[1:])
	if long := strings.TrimSpace(k.Long); long != "" {
		fmt.Fprintf(b, "\n%s\n", long)
	}
	fmt.Fprintf(b, "\nHappens to: %s.", k.Object)
	if len(k.Needs) > 0 {
		fmt.Fprintf(b, " Takes %s.", Needs(k))
	}
	if len(k.Reported) > 0 {
		links := make([]string, len(k.Reported))
		for i, r := range k.Reported {
			links[i] = r
			if u := URL(r); u != "" {
				links[i] = "[" + r + "](" + u + ")"
			}
		}
		fmt.Fprintf(b, " Reported: %s.", strings.Join(links, ", "))
	}
	b.WriteString("\n")
	if len(k.Params) == 0 {
		return
	}
	b.WriteString("\n| `--set` | | default |\n|---|---|---|\n")
	for _, p := range k.Params {
		short := strings.ReplaceAll(strings.ReplaceAll(p.Short, "|", "\\|"), "*", "\\*")
		if len(p.Choices) > 0 {
			short += ": " + strings.Join(p.Choices, ", ")
		}
		standard := ""
		switch {
		case p.Required:
			standard = "**required**"
		case p.Default != "":
			standard = "`" + p.Default + "`"
		}
		fmt.Fprintf(b, "| `%s` (%s) | %s | %s |\n", p.Name, p.Type, short, standard)
	}
}

// anchor returns the link target of a heading.
func anchor(heading string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(heading) {
		switch {
		case r == ' ':
			b.WriteByte('-')
		case r == '-' || r == '_' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			b.WriteRune(r)
		}
	}
	return b.String()
}
