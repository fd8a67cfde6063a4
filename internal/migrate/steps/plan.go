package steps

import (
	"cmp"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"al.essio.dev/pkg/shellescape"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/migrate"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/migrate/check"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
)

// Plan is the steps of a migration in their order.
type Plan struct {
	Cluster string `json:"cluster"`
	Version string `json:"version,omitempty"`
	// Source is the old configuration file, and Folder that of the new files.
	Source string `json:"source"`
	Folder string `json:"folder"`
	// Notes apply to the whole plan, one line each.
	Notes []string `json:"notes,omitempty"`
	Steps []Step   `json:"steps"`
}

// Step is a step of a Plan. Verify it before you begin the next one.
type Step struct {
	// ID is the same in every release: "csi-driver".
	ID    string `json:"id"`
	Title string `json:"title"`
	// Why is the reason for the step, and Text are notes for the reader.
	Why  string   `json:"why"`
	Text []string `json:"text,omitempty"`
	// Commands do the step, Done verifies it, and Undo rolls it back.
	Commands []Command `json:"commands,omitempty"`
	Done     []Command `json:"verify,omitempty"`
	Undo     []Command `json:"rollback,omitempty"`
	// UndoText is a note on the rollback.
	UndoText string `json:"rollbackText,omitempty"`
}

// Command is a command line of a shell.
type Command struct {
	// On is the node to run it on, or empty for where kubectl is.
	On string `json:"on,omitempty"`
	// What is what the command does or must print, where that is not obvious.
	What string `json:"what,omitempty"`
	Run  string `json:"run"`
}

//go:embed plan.tmpl
var text string

const (
	// oldestHardware is the oldest hardware version that the CSI driver attaches volumes to.
	oldestHardware = 15
	// maxNodeSteps is the number of nodes up to which each node gets its own step.
	maxNodeSteps = 10
	// newestCCM and driverRelease are the upstream releases to install if the version of the cluster is not known.
	newestCCM     = 36
	driverRelease = "v3.3.1"
)

// New returns the plan for what in.Report found.
func New(in Input) *Plan {
	d := data{In: in, Report: in.Report}
	tmpl := template.Must(template.New("plan.tmpl").Funcs(template.FuncMap{
		"k": d.kubectl, "q": quote, "line": oneLine, "old": d.old, "file": d.file, "made": d.made, "check": d.check, "choice": d.choice,
		"join": strings.Join, "split": strings.Split, "missingCategories": d.missingCategories, "oldHardware": oldHardware,
		"secretFile": func(ref config.SecretRef) string { return "before-secret-" + ref.Namespace + "-" + ref.Name + ".yaml" },
		"edit": func(node, part, sed string) map[string]string {
			return map[string]string{"Node": node, "Part": part, "Sed": sed}
		},
	}).Parse(text))
	var b strings.Builder
	if err := tmpl.Execute(&b, d); err != nil {
		panic(err) // the template does not fit data
	}
	return &Plan{Cluster: in.Report.Cluster, Version: in.Report.Version, Source: d.old(), Folder: in.Folder, Notes: d.notes(), Steps: parse(b.String())}
}

// lineBreak stands for a line break in a value, which must not begin a line of the template's output.
const lineBreak = "\x00"

func quote(s string) string { return strings.ReplaceAll(shellescape.Quote(s), "\n", lineBreak) }

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// parse reads the steps that plan.tmpl writes, in the format that it describes.
func parse(text string) []Step {
	var (
		steps   []Step
		s       *Step
		section *[]Command
		next    Command // without its command line
	)
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		line := strings.ReplaceAll(lines[i], lineBreak, "\n")
		switch {
		case strings.TrimSpace(line) == "":
		case strings.HasPrefix(line, "== "):
			id, title, _ := strings.Cut(line[len("== "):], " | ")
			steps = append(steps, Step{ID: id, Title: title})
			s, section = &steps[len(steps)-1], nil
		case line == "[run]":
			section, next = &s.Commands, Command{}
		case line == "[verify]":
			section, next = &s.Done, Command{}
		case strings.HasPrefix(line, "[rollback]"):
			section, next = &s.Undo, Command{}
			s.UndoText = strings.TrimSpace(line[len("[rollback]"):])
		case section == nil && strings.HasPrefix(line, "- "):
			s.Text = append(s.Text, line[len("- "):])
		case section == nil:
			s.Why = line
		case line[0] == '@':
			next.On = line[1:]
		case strings.HasPrefix(line, "# "):
			next.What = line[len("# "):]
		default:
			next.Run = line
			for end := strings.Contains(line, "<<'EOF'"); end && lines[i] != "EOF"; {
				i++
				next.Run += "\n" + lines[i]
			}
			*section = append(*section, next)
			next = Command{On: next.On}
		}
	}
	return steps
}

// data is what plan.tmpl reads.
type data struct {
	In     Input
	Report *check.Report
}

func (d data) old() string {
	if d.In.Old == "-" || d.In.Old == "" {
		return "vsphere.conf"
	}
	return d.In.Old
}

// file returns the quoted path of a new file.
func (d data) file(name string) string {
	return quote(strings.TrimRight(d.In.Folder, "/") + "/" + name)
}

func (d data) kubectl() string {
	line := "kubectl"
	if d.In.Kubeconfig != "" {
		line += " --kubeconfig " + quote(d.In.Kubeconfig)
	}
	if d.In.Context != "" {
		line += " --context " + quote(d.In.Context)
	}
	return line
}

// check returns the command line that checks the cluster again.
func (d data) check() string {
	var line strings.Builder
	line.WriteString("vsphere-sandbox migrate check " + quote(d.old()))
	for _, f := range []struct{ name, value string }{{"name", d.In.Sandbox}, {"kubeconfig", d.In.Kubeconfig}, {"context", d.In.Context}, {"vcenter-config", d.In.VCenters}, {"csi-vcenter-config", d.In.CSI}} {
		if f.value != "" {
			line.WriteString(" --" + f.name + " " + quote(f.value))
		}
	}
	return line.String() + d.choice()
}

// choice returns the flags that choose VMs.
func (d data) choice() string {
	var line strings.Builder
	for _, arg := range d.In.Choice {
		line.WriteString(" " + quote(arg))
	}
	return line.String()
}

func (d data) made(file string) bool {
	return slices.ContainsFunc(d.In.Config.Files, func(f migrate.File) bool { return f.Name == file })
}

// olderThan reports whether the cluster is known to be older than a release of Kubernetes.
func (d data) olderThan(release string) bool {
	v, err := version.ParseGeneric(d.Report.Version)
	return err == nil && !v.AtLeast(version.MustParseGeneric(release))
}

// Disks reports whether the in-tree provider has volumes.
func (d data) Disks() bool { return len(d.Report.Volumes)+len(d.Report.Inline) > 0 }

// Both reports whether Kubernetes needs the in-tree provider for volumes until each node translates them.
func (d data) Both() bool { return d.Disks() && d.olderThan("1.26") }

// Gated reports whether Kubernetes translates volumes behind feature gates.
func (d data) Gated() bool { return d.Disks() && d.olderThan("1.25") }

// HasCCM reports whether a cloud controller manager runs already.
func (d data) HasCCM() bool {
	return slices.ContainsFunc(d.Report.Findings, func(f check.Finding) bool { return f.Check == "ccm" && f.Verdict == check.Pass })
}

// HasDriver reports whether the CSI driver is on all nodes.
func (d data) HasDriver() bool {
	return len(d.Report.Nodes) > 0 && !slices.ContainsFunc(d.Report.Nodes, func(n check.Node) bool { return !n.Driver })
}

// DriverManifest returns the URL of upstream's driver.
func (data) DriverManifest() string {
	return "https://raw.githubusercontent.com/kubernetes-sigs/vsphere-csi-driver/" + driverRelease + "/manifests/vanilla/vsphere-csi-driver.yaml"
}

// CCMRelease returns the minor release of the cloud controller manager for the cluster.
func (d data) CCMRelease() int {
	if v, err := version.ParseGeneric(d.Report.Version); err == nil {
		return min(newestCCM, int(v.Minor()))
	}
	return newestCCM
}

// Failed returns the findings that fail.
func (d data) Failed() []check.Finding {
	return keep(d.Report.Findings, func(f check.Finding) bool { return f.Verdict == check.Fail })
}

// Find returns the findings of the checks that do not pass.
func (d data) Find(checks ...string) []check.Finding {
	return keep(d.Report.Findings, func(f check.Finding) bool { return f.Verdict != check.Pass && slices.Contains(checks, f.Check) })
}

func keep[T any](all []T, match func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(all), func(t T) bool { return !match(t) })
}

// missingCategories returns the tag categories that findings name as missing.
func (d data) missingCategories(found []check.Finding) []string {
	var missing []string
	for _, f := range found {
		for _, category := range []string{d.In.Config.Config.Labels.Region, d.In.Config.Config.Labels.Zone} {
			if f.Check == "tag-categories" && strings.Contains(f.Found, strconv.Quote(category)) {
				missing = append(missing, category)
			}
		}
	}
	return missing
}

// ControlPlane returns the nodes of the control plane.
func (d data) ControlPlane() []check.Node {
	return keep(d.Report.Nodes, func(n check.Node) bool { return n.ControlPlane })
}

// OldVMs returns the nodes with a VM that the CSI driver cannot serve.
func (d data) OldVMs() []check.Node {
	return keep(d.Report.Nodes, func(n check.Node) bool { return n.VM != nil && (!n.VM.DiskUUID || oldHardware(n.VM)) })
}

func oldHardware(vm *check.VM) bool {
	number, err := strconv.Atoi(strings.TrimPrefix(vm.HardwareVersion, "vmx-"))
	return err == nil && number < oldestHardware
}

// WrongLabels returns the nodes with labels of the in-tree provider that differ from the tags of the VM or from the new labels.
func (d data) WrongLabels() []check.Node {
	return keep(d.Report.Nodes, func(n check.Node) bool {
		wrong := n.VM != nil && n.VM.Zone != "" && (n.OldZone != n.VM.Zone || n.OldRegion != n.VM.Region)
		differ := n.Zone != "" && (n.OldZone != n.Zone || n.OldRegion != n.Region)
		return n.OldZone != "" && (wrong || differ)
	})
}

// order returns the names of the nodes: those with the fewest volumes first, the control plane last.
func (d data) order() []string {
	volumes := map[string]int{}
	for _, v := range d.Report.Volumes {
		for _, node := range v.Attached {
			volumes[node]++
		}
	}
	last := func(n check.Node) int {
		if n.ControlPlane {
			return 1
		}
		return 0
	}
	nodes := slices.SortedStableFunc(slices.Values(d.Report.Nodes), func(a, b check.Node) int {
		return cmp.Or(last(a)-last(b), volumes[a.Name]-volumes[b.Name], cmp.Compare(a.Name, b.Name))
	})
	var names []string
	for _, n := range nodes {
		names = append(names, n.Name)
	}
	return names
}

// Many returns the names of the nodes if they share one step.
func (d data) Many() []string {
	if names := d.order(); len(names) > maxNodeSteps {
		return names
	}
	return nil
}

// NodeSteps returns the node of each step.
func (d data) NodeSteps() []string {
	if d.Many() != nil {
		return []string{"$node"}
	}
	return d.order()
}

// Datastores returns the names of all datastores.
func (d data) Datastores() []string {
	var all []string
	for _, vc := range d.Report.VCenters {
		all = slices.AppendSeq(all, maps.Keys(vc.Datastores))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// DatastoreURLs returns "NAME=URL" of the datastores that the old file or a class names, which are all that migrate config
// needs. Of several vCenters with a datastore of one name, the first counts.
func (d data) DatastoreURLs() []string {
	urls, _ := d.urls()
	var all []string
	for _, name := range slices.Sorted(maps.Keys(urls)) {
		all = append(all, name+"="+urls[name])
	}
	return all
}

// SameDatastores returns notes on datastores with one name and several URLs.
func (d data) SameDatastores() []string {
	_, notes := d.urls()
	return notes
}

func (d data) urls() (urls map[string]string, notes []string) {
	urls, from := map[string]string{}, map[string]string{}
	for _, vc := range d.Report.VCenters {
		for _, name := range slices.Sorted(maps.Keys(vc.Datastores)) {
			url := vc.Datastores[name]
			switch first, named := urls[name]; {
			case url == "" || !d.names(name) || first == url:
			case named:
				notes = append(notes, fmt.Sprintf("Datastore %s: the URL is that of vCenter %s, and in vCenter %s one of the same name is %s. "+
					"Give that of the vCenter in which volumes were made.", name, from[name], vc.Name, url))
			default:
				urls[name], from[name] = url, vc.Name
			}
		}
	}
	return urls, notes
}

// names reports whether the old file or a class names a datastore.
func (d data) names(datastore string) bool {
	if slices.Contains(d.In.Datastores, datastore) {
		return true
	}
	for _, class := range d.Report.Classes {
		for key, value := range class.Parameters {
			if strings.EqualFold(key, "datastore") && value == datastore {
				return true
			}
		}
	}
	return false
}

// KeptSecrets returns the Secrets that the old file names and the new files do not replace.
func (d data) KeptSecrets() []config.SecretRef {
	var all []config.SecretRef
	for _, vc := range d.In.Config.Config.VCenters {
		if vc.Secret != (config.SecretRef{}) && !d.made("secret-"+vc.Secret.Name+".yaml") && !slices.Contains(all, vc.Secret) {
			all = append(all, vc.Secret)
		}
	}
	return all
}

// CloudFiles returns the new files for the cloud controller manager.
func (d data) CloudFiles() []string {
	var names []string
	for _, f := range d.In.Config.Files {
		if strings.HasPrefix(f.Name, "secret-") && f.Name != "secret-vsphere-config-secret.yaml" {
			names = append(names, f.Name)
		}
	}
	return append(names, "configmap.yaml")
}

func (d data) notes() []string {
	notes := []string{fmt.Sprintf("Made from what was found, checks that pass: %d, that warn: %d, that fail: %d. After you change something, make the plan again.",
		d.Report.Count(check.Pass), d.Report.Count(check.Warn), d.Report.Count(check.Fail))}
	if d.In.Sandbox != "" {
		notes = append(notes, "The cluster is a sandbox: `eval \"$(vsphere-sandbox env --name "+shellescape.Quote(d.In.Sandbox)+")\"` points kubectl and govc to it. Its nodes are hollow, with no files to edit.")
	} else {
		notes = append(notes, "govc uses the vCenter of GOVC_URL, GOVC_USERNAME and GOVC_PASSWORD, with an account that may change VMs.")
	}
	notes = append(notes, "Paths on nodes are those of kubeadm.")
	if len(d.Report.VCenters) == 0 {
		notes = append(notes, "No vCenter was reached: VMs, tags and disks are not known, and steps about them are missing.")
	}
	return notes
}

// Input is what New makes a plan from. Report, Config and Old are mandatory.
type Input struct {
	// Report is what migrate check found, and Config the result of converting the old file.
	Report *check.Report
	Config *migrate.Migration
	// Old is the name of the old file, and Folder that of the new ones.
	Old, Folder string
	// Datastores are the names of datastores in the old file; the function Datastores returns them.
	Datastores []string
	// ClusterID and Force are the options that Config was converted with.
	ClusterID string
	Force     bool
	// Kubeconfig, Context and Sandbox are the values of the flags that name the cluster; empty ones are left out.
	Kubeconfig, Context, Sandbox string
	// VCenters and CSI are the files of --vcenter-config and --csi-vcenter-config, and Choice the flags that chose VMs.
	VCenters, CSI string
	Choice        []string
}

// Datastores returns the names of the datastores in an old file.
func Datastores(old migrate.Source) []string {
	var all []string
	sections, _ := config.ReadINI(old.Name, old.Data) // Convert reports what is wrong with it
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

// Markdown returns the plan as a page.
func (p *Plan) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Migration of %s %s\n\n", p.Cluster, p.Version)
	fmt.Fprintf(&b, "From the in-tree vSphere provider and `%s` to the cloud controller manager and the CSI driver.\n", strings.ReplaceAll(p.Source, "`", "'"))
	b.WriteString("Verify each step before you begin the next one.\n")
	for _, n := range p.Notes {
		b.WriteString("\n> " + n + "\n")
	}
	b.WriteByte('\n')
	for i, s := range p.Steps {
		fmt.Fprintf(&b, "%d. [%s](#%s)\n", i+1, s.Title, anchor(i+1, s.Title))
	}
	for i, s := range p.Steps {
		fmt.Fprintf(&b, "\n## %d. %s\n\n%s\n", i+1, s.Title, s.Why)
		for _, t := range s.Text {
			b.WriteString("\n- " + t)
		}
		if len(s.Text) > 0 {
			b.WriteByte('\n')
		}
		block(&b, "", s.Commands)
		block(&b, "Verify", s.Done)
		if s.UndoText != "" {
			b.WriteString("\n**Roll back**: " + s.UndoText + "\n")
			block(&b, "", s.Undo)
		} else {
			block(&b, "Roll back", s.Undo)
		}
	}
	return b.String()
}

// block writes commands, under a title.
func block(b *strings.Builder, title string, all []Command) {
	if len(all) == 0 {
		return
	}
	if title != "" {
		b.WriteString("\n**" + title + "**\n")
	}
	b.WriteString("\n```sh\n")
	on := ""
	for _, c := range all {
		if c.On != on {
			if on = c.On; on != "" {
				b.WriteString("# on " + on + "\n")
			} else {
				b.WriteString("# where kubectl is\n")
			}
		}
		if c.What != "" {
			b.WriteString("# " + c.What + "\n")
		}
		b.WriteString(c.Run + "\n")
	}
	b.WriteString("```\n")
}

// anchor returns the link target that Markdown viewers give a heading.
func anchor(n int, title string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d-", n)
	for _, r := range strings.ToLower(title) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-':
			b.WriteRune(r)
		case r == ' ':
			b.WriteByte('-')
		}
	}
	return b.String()
}
