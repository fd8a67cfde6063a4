package docs

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/catalogue"
)

// The table is printed from the interface itself, so a new method must be described here.
func TestCloudProviderInterface(t *testing.T) {
	means := map[string]string{
		"InstanceExists":   "is there a VM for this Node, on or off?",
		"InstanceShutdown": "is it off, or suspended?",
		"InstanceMetadata": "providerID, addresses, instance type, region and zone",
	}
	var b strings.Builder
	fmt.Fprintln(&b, "| InstancesV2 | the question | an error means |\n|---|---|---|")
	for method := range reflect.TypeFor[cloudprovider.InstancesV2]().Methods() {
		name := method.Name
		if means[name] == "" {
			t.Errorf("%s: what does it ask?", name)
		}
		fmt.Fprintf(&b, "| `%s(ctx, node)` | %s | nothing is known; nothing is done, and it is asked again |\n", name, means[name])
	}
	generated(t, "concepts/cloud-provider.md", "interface", b.String())
}

// The two byte orders on the page are those that the provider looks for.
func TestByteOrders(t *testing.T) {
	uuid, err := match.ParseUUID("42302156-7a8e-9cd3-0f61-5d2b1c4e8a90")
	if err != nil {
		t.Fatal(err)
	}
	generated(t, "concepts/nodes-and-vms.md", "uuid", fmt.Sprintf("```\nBIOS UUID    %s\nsystem UUID  %s\n          or %s\nproviderID   vsphere://%s\n```\n",
		uuid, uuid, uuid.Swapped(), uuid))
}

// The known issues are printed from what scenarios say that they were reported as.
func TestKnownIssues(t *testing.T) {
	all, err := scenario.Catalogue()
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string][]string{}
	for _, s := range all {
		shown := fmt.Sprintf("[%s](../../scenarios/%s/%s.yaml)", s.Metadata.Name, s.Theme, s.Metadata.Name)
		var fails []string
		for _, f := range s.Fails {
			fails = append(fails, strings.TrimPrefix(f.CCM, "module:"))
		}
		if len(fails) > 0 {
			shown += " ✗ " + strings.Join(fails, " ")
		}
		for _, issue := range s.Reported {
			rows[issue] = append(rows[issue], shown)
		}
	}
	issues := slices.Collect(maps.Keys(rows))
	// By project, then by number: #99 before #100.
	slices.SortFunc(issues, func(a, b string) int {
		pa, na, _ := strings.Cut(a, "#")
		pb, nb, _ := strings.Cut(b, "#")
		ia, _ := strconv.Atoi(na)
		ib, _ := strconv.Atoi(nb)
		return cmp.Or(cmp.Compare(pa, pb), cmp.Compare(ia, ib))
	})
	var b strings.Builder
	fmt.Fprintln(&b, "| issue | what was reported | shown by |\n|---|---|---|")
	words := reported(t)
	for _, issue := range issues {
		url := catalogue.URL(issue)
		if url == "" || words[issue] == "" {
			t.Errorf("%s: where is it (%q), and what does it say (%q)? reported.yaml", issue, url, words[issue])
		}
		fmt.Fprintf(&b, "| [%s](%s) | %s | %s |\n", issue, url, words[issue], strings.Join(rows[issue], ", "))
		delete(words, issue)
	}
	for issue := range words {
		t.Errorf("reported.yaml: no scenario is about %s", issue)
	}
	generated(t, "concepts/known-issues.md", "issues", b.String())
}

// reported are the words for issues.
func reported(t *testing.T) map[string]string {
	t.Helper()
	data, err := os.ReadFile("concepts/reported.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var words map[string]string
	if err := yaml.Unmarshal(data, &words); err != nil {
		t.Fatal(err)
	}
	return words
}
