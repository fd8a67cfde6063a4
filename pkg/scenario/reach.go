package scenario

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/ccm"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/internal/verbs"
	"github.com/vsphere-sandbox/vsphere-sandbox/scenarios"
)

// Reach is one way in which a scenario starts a program, or does more than inject faults into its own sandbox and read it.
type Reach struct {
	// Line is its line, Path its field.
	Line int    `json:"line"`
	Path string `json:"path"`
	// Does describes it: "runs kubectl apply, which is not known to only read".
	Does string `json:"does"`
}

// String returns the reach without its file: "7: steps[2].run: runs …".
func (r Reach) String() string { return fmt.Sprintf("%d: %s: %s", r.Line, r.Path, r.Does) }

// OfComponents reports whether it is about starting parts of a sandbox, which does not concern a running sandbox.
func (r Reach) OfComponents() bool { return strings.HasPrefix(r.Path, "components.") }

// Reaches returns what the scenario needs trust for, in the order of the file. A scenario with the content of one of the
// catalogue, read from anywhere, needs none. validate, show and run use it.
//
// Everything that is not known to be harmless counts: programs as cloud controller managers, flags and environment for them, and
// commands that package verbs does not list.
func (s *Scenario) Reaches() []Reach {
	if scenarios.Holds(s.source) {
		return nil
	}
	var all []Reach
	add := func(node *yaml.Node, path, does string, args ...any) {
		line := 1
		if node != nil {
			line = max(node.Line, 1)
		}
		all = append(all, Reach{line, path, fmt.Sprintf(does, args...)})
	}
	_, components := strict.Find(s.root, "components")
	_, node := strict.Find(components, "ccm")
	at := func(key string) *yaml.Node { _, found := strict.Find(node, key); return found }
	if source, err := ccm.Parse(s.Components.CCM.Source); err != nil || source.Kind() != ccm.Builtin {
		add(at("source"), "components.ccm.source", "starts the program %s as cloud controller manager", s.Components.CCM.Source)
	}
	for i, arg := range s.Components.CCM.Args {
		if !harmlessArg().MatchString(arg) {
			add(item(at("args"), i), strict.Item("components.ccm.args", i), "starts the cloud controller manager with %s", arg)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Components.CCM.Env)) {
		if !harmlessEnv().MatchString(name) {
			key, _ := strict.Find(at("env"), name)
			add(key, strict.Below("components.ccm.env", name), "sets %s for the cloud controller manager", name)
		}
	}
	for _, step := range s.Steps {
		if does := verbs.Effects(step.Run); does != "" {
			_, run := strict.Find(step.node, "run")
			add(run, strict.Below(step.path, "run"), "%s", does)
		}
	}
	slices.SortStableFunc(all, func(a, b Reach) int { return a.Line - b.Line })
	return all
}

// harmlessArg matches flags of cloud controller managers for intervals and amounts, without files and addresses.
func harmlessArg() *regexp.Regexp {
	return regexp.MustCompile(`^--?(v|concurrent-node-syncs|concurrent-service-syncs|kube-api-burst|kube-api-qps|min-resync-period|` +
		`node-monitor-period|node-status-update-frequency|route-reconciliation-period|` +
		`leader-elect-(lease-duration|renew-deadline|retry-period))=[0-9.a-z]+$`)
}

// harmlessEnv are variables that choose addresses of nodes.
func harmlessEnv() *regexp.Regexp { return regexp.MustCompile(`^VSPHERE_NODES_[A-Z0-9_]+$`) }

func item(list *yaml.Node, i int) *yaml.Node {
	if list == nil || i >= len(list.Content) {
		return list
	}
	return list.Content[i]
}

// placed makes paths in the scenario relative to its file rather than to the working directory.
func (s *Scenario) placed(from folder) {
	if !from.there || from.files != nil {
		return
	}
	dir, err := filepath.Abs(from.dir)
	if err != nil {
		return // unchanged: the working directory was removed
	}
	s.Folder = dir
	if source, err := ccm.Parse(s.Components.CCM.Source); err == nil && source.Kind() != ccm.Builtin {
		s.Components.CCM.Source = source.In(dir).String()
	}
}
