package steps

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"al.essio.dev/pkg/shellescape"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
)

const (
	cloudNamespace = "kube-system"
	csiNamespace   = "vmware-system-csi"
)

// convert makes the new files.
func (w *writer) convert() *Step {
	s := &Step{
		ID: "configuration", Title: "Convert the configuration",
		Why:  "The cloud controller manager and the CSI driver read other files than the in-tree provider, and credentials belong into Secrets.",
		Text: w.in.Config.Report.Todo,
		Done: []Command{run("vsphere-sandbox config validate %s", w.file("vsphere.conf")), here("what became of every line", "cat "+w.file("report.txt"))},
		Undo: []Command{run("rm -r %s", shellescape.Quote(w.in.Folder))},
	}
	var line strings.Builder
	line.WriteString("vsphere-sandbox migrate config " + shellescape.Quote(w.old()) + " --out " + shellescape.Quote(w.in.Folder))
	if len(w.r.Classes) > 0 {
		line.WriteString(" --manifests classes.yaml")
	}
	for _, ref := range w.kept() {
		name := "before-secret-" + ref.Namespace + "-" + ref.Name + ".yaml"
		s.Commands = append(s.Commands, run("%s", w.kubectl("--namespace %s get secret %s -o yaml > %s", shellescape.Quote(ref.Namespace), shellescape.Quote(ref.Name), shellescape.Quote(name))))
		line.WriteString(" --manifests " + shellescape.Quote(name))
	}
	urls, others := w.urls()
	for _, name := range slices.Sorted(maps.Keys(urls)) {
		line.WriteString(" --datastore-url " + shellescape.Quote(name+"="+urls[name]))
	}
	s.Text = append(slices.Clone(s.Text), others...)
	if w.in.ClusterID != "" {
		line.WriteString(" --cluster-id " + shellescape.Quote(w.in.ClusterID))
	}
	if w.in.Force {
		line.WriteString(" --force")
	}
	s.Commands = append(s.Commands, Command{Run: line.String()})
	return s
}

// urls are those of the datastores that the old file or a class names: of one name in several vCenters that of the first, and a
// note of the others.
func (w *writer) urls() (urls map[string]string, others []string) {
	urls, from := map[string]string{}, map[string]string{}
	for _, vc := range w.r.VCenters {
		for _, name := range slices.Sorted(maps.Keys(vc.Datastores)) {
			url := vc.Datastores[name]
			switch first, named := urls[name]; {
			case url == "" || !w.names(name) || first == url:
			case named:
				others = append(others, fmt.Sprintf("Datastore %s: the URL is that of vCenter %s, and in vCenter %s one of the same name is %s. "+
					"Give that of the vCenter in which volumes were made.", name, from[name], vc.Name, url))
			default:
				urls[name], from[name] = url, vc.Name
			}
		}
	}
	return urls, others
}

// names says whether the old file or a class names a datastore: migrate config takes the URLs of those alone.
func (w *writer) names(datastore string) bool {
	if slices.Contains(w.in.Datastores, datastore) {
		return true
	}
	for _, k := range w.r.Classes {
		for key, value := range k.Parameters {
			if strings.EqualFold(key, "datastore") && value == datastore {
				return true
			}
		}
	}
	return false
}

// kept are the Secrets that the old file names, which stay.
func (w *writer) kept() []config.SecretRef {
	var all []config.SecretRef
	for _, vc := range w.in.Config.Config.VCenters {
		made := slices.Contains(w.made(), "secret-"+vc.Secret.Name+".yaml")
		if vc.Secret != (config.SecretRef{}) && !made && !slices.Contains(all, vc.Secret) {
			all = append(all, vc.Secret)
		}
	}
	return all
}

// made are the names of the new files.
func (w *writer) made() []string {
	var names []string
	for _, f := range w.in.Config.Files {
		names = append(names, f.Name)
	}
	return names
}

// secrets puts credentials and configuration into the cluster.
func (w *writer) secrets() *Step {
	s := &Step{
		ID: "secrets", Title: "Secrets and ConfigMap", Why: "Pods read them from the cluster. Nothing uses them yet.",
		Text: []string{"Where the two have accounts of their own now, write their users and passwords into the files first."},
	}
	var cloud []string
	for _, name := range w.made() {
		if strings.HasPrefix(name, "secret-") && name != "secret-vsphere-config-secret.yaml" {
			cloud = append(cloud, name)
		}
	}
	for _, name := range append(cloud, "configmap.yaml") {
		s.Commands = append(s.Commands, run("%s", w.kubectl("apply -f %s", w.file(name))))
		s.Undo = append(s.Undo, run("%s", w.kubectl("delete --ignore-not-found -f %s", w.file(name))))
	}
	s.Commands = append(s.Commands,
		run("%s", w.kubectl("create namespace %s --dry-run=client -o yaml | %s", csiNamespace, w.kubectl("apply -f -"))),
		run("%s", w.kubectl("apply -f %s", w.file("secret-vsphere-config-secret.yaml"))))
	s.Undo = append(s.Undo, run("%s", w.kubectl("delete namespace %s", csiNamespace)))
	s.Done = []Command{
		run("%s", w.kubectl("--namespace %s get configmap vsphere-cloud-config", cloudNamespace)),
		run("%s", w.kubectl("--namespace %s get secret vsphere-config-secret", csiNamespace)),
	}
	return s
}

// roles makes roles with no more privileges than are used.
func (w *writer) roles() *Step {
	var line strings.Builder
	line.WriteString("vsphere-sandbox migrate roles --vcenter-config env" + w.choice()) // an administrator makes roles
	for _, name := range w.datastores() {
		line.WriteString(" --datastore " + shellescape.Quote(name))
	}
	line.WriteString(" --ccm-user ccm@vsphere.local --csi-user csi@vsphere.local")
	s := &Step{
		ID: "roles", Title: "Accounts and roles",
		Why: "The in-tree provider has one account that may do much. The cloud controller manager only reads, and the CSI driver needs little beyond disks.",
		Text: []string{
			"Make the two accounts first, by whatever names, and put these into the commands: no user is made by them. Where one account is to stay, pass this step by.",
		},
		Commands: []Command{here("what would be made", line.String()), here("makes it, and asks before", line.String()+" --create")},
		Done:     []Command{here("nothing is missing", line.String())},
		UndoText: "not needed: nobody uses them yet. Take the permissions off the objects, and then remove the roles.",
	}
	for _, f := range w.findings("privileges-ccm", "privileges-hosts", "privileges-csi-search", "privileges-csi-vm", "privileges-csi-datastore") {
		s.Text = append(s.Text, "**"+f.Check+"**, "+f.Where+": "+f.Found+".")
	}
	return s
}

// datastores are those that volumes are in or will be.
func (w *writer) datastores() []string {
	var all []string
	for _, vc := range w.r.VCenters {
		for name := range vc.Datastores {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
