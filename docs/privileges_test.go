package docs

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/migrate/roles"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/privilege"
)

// The page of privileges is printed from the list that the roles are created from, and that test/privileges proves.
func TestPrivileges(t *testing.T) {
	var b strings.Builder
	fmt.Fprintln(&b, "| role | privilege | in the vSphere Client | calls that ask for it | what for | needed by |")
	fmt.Fprintln(&b, "|---|---|---|---|---|---|")
	for _, r := range privilege.Roles() {
		for _, p := range r.Privileges {
			fmt.Fprintf(&b, "| %s | `%s` | %s | %s | %s | %s |\n", r.Name, p.ID, p.Label, listed(p.Calls), p.Why, neededBy(p.Need))
		}
	}
	generated(t, "privileges.md", "roles", b.String())

	b.Reset()
	fmt.Fprintln(&b, "| for | role | granted on | propagates | why |")
	fmt.Fprintln(&b, "|---|---|---|---|---|")
	for _, g := range privilege.Grants() {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", component(g.Component), g.Role.Name, g.On, yesNo(g.Propagate), g.Why)
	}
	generated(t, "privileges.md", "grants", b.String())

	b.Reset()
	fmt.Fprintln(&b, "| taken out | what fails then | what is said |")
	fmt.Fprintln(&b, "|---|---|---|")
	for _, r := range privilege.Roles() {
		for _, p := range r.Privileges {
			without(&b, "`"+p.ID+"` of "+r.Name, p.Without)
		}
	}
	for _, g := range privilege.Grants() {
		without(&b, fmt.Sprintf("%s of the %s on: %s", g.Role.Name, component(g.Component), g.On), g.Without)
	}
	generated(t, "privileges.md", "without", b.String())

	plan, err := roles.Make(roles.Request{})
	if err != nil {
		t.Fatal(err)
	}
	generated(t, "privileges.md", "govc", "```sh\n"+plan.Govc()+"```\n")

	page, err := os.ReadFile("privileges.md")
	if err != nil {
		t.Fatal(err)
	}
	namesTests(t, "privileges.md", string(page))
}

// without is a row for each thing that is said.
func without(b *strings.Builder, what string, failures []privilege.Failure) {
	if len(failures) == 0 {
		fmt.Fprintf(b, "| %s | nothing | |\n", what)
		return
	}
	var says []string
	for _, f := range failures {
		if !slices.Contains(says, f.Message) {
			says = append(says, f.Message)
		}
	}
	for _, s := range says {
		var of []string
		for _, f := range failures {
			if f.Message == s {
				of = append(of, string(f.Operation))
			}
		}
		fmt.Fprintf(b, "| %s | %s | `%s` |\n", what, strings.Join(of, ", "), shownName(s))
	}
}

// shownName stands for the identifier of an object, which is another in every vCenter.
func shownName(says string) string {
	if strings.HasSuffix(says, ":") {
		return says + "…"
	}
	return says
}

func listed(calls []string) string {
	if len(calls) == 0 {
		return "none"
	}
	return strings.Join(calls, ", ")
}

func neededBy(n privilege.Need) string {
	switch n {
	case privilege.Both:
		return "this module and upstream"
	case privilege.Upstream:
		return "upstream's CSI driver alone"
	}
	return "–"
}

func component(c privilege.Component) string {
	if c == privilege.CCM {
		return "cloud controller manager"
	}
	return "CSI driver"
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
