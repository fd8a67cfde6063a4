package steps

import (
	"fmt"
	"slices"
	"strings"

	"al.essio.dev/pkg/shellescape"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/migrate"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/migrate/check"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
)

// Plan is the steps in their order.
type Plan struct {
	Cluster string `json:"cluster"`
	Version string `json:"version,omitempty"`
	// Source is the old configuration, and Folder where the new one is.
	Source string `json:"source"`
	Folder string `json:"folder"`
	// Notes are to be read first, one line each.
	Notes []string `json:"notes,omitempty"`
	Steps []Step   `json:"steps"`
}

// Step is one of them: done and seen to have worked before the next one is begun.
type Step struct {
	// ID is the same in every release: "csi-driver".
	ID    string `json:"id"`
	Title string `json:"title"`
	// Why is what the step is for, and Text what no command says.
	Why  string   `json:"why"`
	Text []string `json:"text,omitempty"`
	// Commands are in their order. Done says how to see that they have worked, Undo is the way back.
	Commands []Command `json:"commands,omitempty"`
	Done     []Command `json:"verify,omitempty"`
	Undo     []Command `json:"rollback,omitempty"`
	// UndoText is what no command says of the way back.
	UndoText string `json:"rollbackText,omitempty"`
}

// Command is a command line of a shell.
type Command struct {
	// On is where it is run: a node's name, or empty for where kubectl is.
	On string `json:"on,omitempty"`
	// What is what it does, or what is to be seen, where that is not plain.
	What string `json:"what,omitempty"`
	Run  string `json:"run"`
}

// New writes the plan.
func New(in Input) *Plan {
	w := &writer{in: in, r: in.Report}
	p := &Plan{Cluster: in.Report.Cluster, Version: in.Report.Version, Source: w.old(), Folder: in.Folder, Notes: w.notes()}
	all := []*Step{
		w.mend(), w.backup(), w.convert(), w.roles(), w.secrets(), w.machines(), w.tags(), w.labels(), w.manager(), w.controlPlane(), w.driver(), w.gates(),
	}
	all = append(all, w.nodes()...)
	all = append(all, w.withdraw(), w.classes(), w.verify(), w.cleanup())
	for _, step := range all {
		if step != nil {
			p.Steps = append(p.Steps, *step)
		}
	}
	return p
}

// writer writes the steps of one plan. A step that is not needed is nil.
type writer struct {
	in Input
	r  *check.Report
}

// old is the name of the old file in commands.
func (w *writer) old() string {
	if w.in.Old == "-" || w.in.Old == "" {
		return "vsphere.conf"
	}
	return w.in.Old
}

// file is a new file.
func (w *writer) file(name string) string {
	return shellescape.Quote(strings.TrimRight(w.in.Folder, "/") + "/" + name)
}

// kubectl is a command line for the cluster.
func (w *writer) kubectl(format string, args ...any) string {
	line := "kubectl"
	if w.in.Kubeconfig != "" {
		line += " --kubeconfig " + shellescape.Quote(w.in.Kubeconfig)
	}
	if w.in.Context != "" {
		line += " --context " + shellescape.Quote(w.in.Context)
	}
	return line + " " + fmt.Sprintf(format, args...)
}

// check is the command line that looks at the cluster again.
func (w *writer) check() string {
	var line strings.Builder
	line.WriteString("vsphere-sandbox migrate check " + shellescape.Quote(w.old()))
	for _, f := range []struct{ name, value string }{{"name", w.in.Sandbox}, {"kubeconfig", w.in.Kubeconfig}, {"context", w.in.Context}, {"vcenter-config", w.in.VCenters}, {"csi-vcenter-config", w.in.CSI}} {
		if f.value != "" {
			line.WriteString(" --" + f.name + " " + shellescape.Quote(f.value))
		}
	}
	return line.String() + w.choice()
}

// choice are the flags that choose VMs.
func (w *writer) choice() string {
	var line strings.Builder
	for _, arg := range w.in.Choice {
		line.WriteString(" " + shellescape.Quote(arg))
	}
	return line.String()
}

// run is a command without anything on it.
func run(format string, args ...any) Command { return Command{Run: fmt.Sprintf(format, args...)} }

// here is a command where kubectl is.
func here(what, line string) Command { return Command{What: what, Run: line} }

// older says whether the cluster is known to be older than a release of Kubernetes.
func (w *writer) older(than string) bool {
	v, err := version.ParseGeneric(w.r.Version)
	return err == nil && !v.AtLeast(version.MustParseGeneric(than))
}

// disks says whether there is a volume of the in-tree provider.
func (w *writer) disks() bool { return len(w.r.Volumes)+len(w.r.Inline) > 0 }

// leads says whether a cloud controller manager is there already.
func (w *writer) leads() bool {
	return slices.ContainsFunc(w.r.Findings, func(f check.Finding) bool { return f.Check == "ccm" && f.Verdict == check.Pass })
}

// both says whether Kubernetes needs the in-tree provider for volumes until each node translates them.
func (w *writer) both() bool { return w.disks() && w.older("1.26") }

// findings are those of some checks that do not pass.
func (w *writer) findings(checks ...string) []check.Finding {
	return slices.DeleteFunc(slices.Clone(w.r.Findings), func(f check.Finding) bool {
		return f.Verdict == check.Pass || !slices.Contains(checks, f.Check)
	})
}

func (w *writer) notes() []string {
	notes := []string{fmt.Sprintf("Made from what was found, checks that pass: %d, that warn: %d, that fail: %d. Once something has been changed, make the plan anew.",
		w.r.Count(check.Pass), w.r.Count(check.Warn), w.r.Count(check.Fail))}
	if w.in.Sandbox != "" {
		notes = append(notes, "The cluster is a sandbox: `eval \"$(vsphere-sandbox env --name "+shellescape.Quote(w.in.Sandbox)+")\"` has kubectl and govc talk to it. Its nodes are hollow, with no files to edit.")
	} else {
		notes = append(notes, "govc talks to the vCenter of GOVC_URL, GOVC_USERNAME and GOVC_PASSWORD, with an account that may change VMs.")
	}
	notes = append(notes, "Paths on nodes are those of kubeadm.")
	if len(w.r.VCenters) == 0 {
		notes = append(notes, "No vCenter could be asked: VMs, tags and disks are not known, and steps about them are missing.")
	}
	return notes
}

// Input is what a plan is made of. Report, Config and Old are mandatory.
type Input struct {
	// Report is what was found, and Config what the old file is converted to.
	Report *check.Report
	Config *migrate.Migration
	// Old is the name of the old file, and Folder that of the new ones.
	Old, Folder string
	// Datastores are the names of datastores in the old file, as the function of that name finds them.
	Datastores []string
	// ClusterID and Force are those that Config was made with.
	ClusterID string
	Force     bool
	// Kubeconfig, Context and Sandbox say how the cluster is named to programs; one that is empty is not named.
	Kubeconfig, Context, Sandbox string
	// VCenters and CSI are the files of --vcenter-config and --csi-vcenter-config, and Choice the flags that chose VMs.
	VCenters, CSI string
	Choice        []string
}

// Datastores are the names of datastores that an old file has.
func Datastores(old migrate.Source) []string {
	var all []string
	sections, _ := config.ReadINI(old.Name, old.Data) // what is wrong with it, Convert tells
	for _, s := range sections {
		for _, e := range s.Entries {
			name := strings.ToLower(s.Name) + "." + strings.ToLower(e.Key)
			if value := strings.TrimSpace(e.Value); value != "" && (name == "workspace.default-datastore" || name == "global.datastore") {
				all = append(all, value)
			}
		}
	}
	return all
}
