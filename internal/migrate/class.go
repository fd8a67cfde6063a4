package migrate

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
)

// inTreeProvisioner is the provisioner of the in-tree provider's StorageClasses.
const inTreeProvisioner = "kubernetes.io/vsphere-volume"

// class is a StorageClass of the CSI driver.
type class struct {
	name             string
	node, parameters *yaml.Node
	// wants reports whether the in-tree provider made its volumes in the default datastore, and has whether they are made there now.
	wants, has bool
}

// planClasses converts the StorageClasses, and makes one for the default datastore if the manifests have no class.
func (c *conversion) planClasses() error {
	u := &urls{given: c.opts.DatastoreURLs, used: map[string]bool{}}
	var problems []config.Problem
	for _, o := range c.objects {
		switch provisioner := text(field(o.node, "provisioner")); {
		case o.kind == "Secret":
		case o.kind != "StorageClass":
			c.note(o.file, o.node.Line, o.title(), judgment{verdict: Kept, why: "is left alone: it is neither a StorageClass nor a Secret"})
		case provisioner == names.Driver:
			c.note(o.file, o.node.Line, o.title(), judgment{verdict: Kept, why: "is left alone: it is one of the CSI driver"})
		case provisioner != inTreeProvisioner:
			c.note(o.file, o.node.Line, o.title(), judgment{verdict: Kept, why: "is left alone: it is not one of vSphere"})
		default:
			w := &classWriter{c: c, o: o, urls: u, made: class{node: mapping(), wants: true}}
			w.write()
			problems = append(problems, w.problems...)
			at := config.Problem{File: o.file, Line: o.node.Line, Path: o.title()}
			if at.Message = "has no name"; w.made.name == "" {
				problems = append(problems, at)
			}
			if at.Message = "stands twice"; slices.ContainsFunc(c.classes, func(k class) bool { return k.name == w.made.name }) {
				problems = append(problems, at)
			}
			c.classes = append(c.classes, w.made)
		}
	}
	if len(c.classes) > 0 {
		c.attend("recreate the classes with kubectl replace --force -f storageclasses.yaml: a class is immutable, and recreating it does not affect volumes")
	}
	c.useDefault(u)
	problems = append(problems, u.unused()...)
	if len(problems) > 0 {
		return &config.Error{Problems: problems}
	}
	c.accountManifests()
	return nil
}

// useDefault gives the classes that want it the default datastore.
func (c *conversion) useDefault(u *urls) {
	name, _ := c.defaultDatastore()
	if name == "" {
		return
	}
	if len(c.classes) == 0 {
		c.classes = append(c.classes, c.newClass())
	}
	for i := range c.classes {
		k := &c.classes[i]
		if !k.wants {
			continue
		}
		url := u.of(name)
		if url == "" {
			c.attendURL(k.name, name)
			continue
		}
		if k.parameters == nil {
			k.parameters = mapping()
			put(k.node, "parameters", k.parameters)
		}
		put(k.parameters, names.ParameterDatastore, scalar(url))
		k.has = true
	}
}

// attendURL notes that a class would have a datastore if its URL was known.
func (c *conversion) attendURL(class, datastore string) {
	c.attend(fmt.Sprintf("StorageClass %s: its volumes were made in the datastore %s, and are made in any that all nodes reach now. "+
		"Give its URL, --datastore-url '%[2]s=ds:///vmfs/volumes/...', or a storage policy", class, datastore))
}

// newClass is a class for volumes that were made in the default datastore.
func (c *conversion) newClass() class {
	name := "vsphere"
	for n := 2; slices.ContainsFunc(c.objects, func(o object) bool { return o.name() == name }); n++ {
		name = fmt.Sprintf("vsphere-%d", n)
	}
	k := class{name: name, node: mapping(), wants: true}
	put(k.node, "apiVersion", scalar("storage.k8s.io/v1"))
	put(k.node, "kind", scalar("StorageClass"))
	metadata := mapping()
	put(metadata, "name", scalar(name))
	put(k.node, "metadata", metadata)
	put(k.node, "provisioner", scalar(names.Driver))
	if c.zones() {
		put(k.node, "volumeBindingMode", scalar("WaitForFirstConsumer")) // else a volume may be where its pod cannot be
	}
	return k
}

// defaultDatastore returns the datastore of a class without any, and the section that names it.
func (c *conversion) defaultDatastore() (name, section string) {
	section, key := "Global", "datastore"
	for _, s := range c.sections {
		if strings.EqualFold(s.Name, "VirtualCenter") {
			section, key = "Workspace", "default-datastore"
		}
	}
	if c.dialect == OutOfTree {
		return "", section
	}
	return strings.TrimSpace(c.value(section, key)), section
}

// datastoreUsers returns the classes that have the default datastore now.
func (c *conversion) datastoreUsers() []string {
	var users []string
	for _, k := range c.classes {
		if k.has {
			users = append(users, k.name+": parameters."+names.ParameterDatastore)
		}
	}
	return users
}

func (c *conversion) wantsDefault() bool {
	return slices.ContainsFunc(c.classes, func(k class) bool { return k.wants })
}

// classManifests are the StorageClasses.
func (c *conversion) classManifests() ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(c.head("StorageClasses of the CSI driver."))
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	for _, k := range c.classes {
		if err := e.Encode(k.node); err != nil {
			return nil, problem("StorageClass "+k.name, "cannot be written: "+err.Error(), "")
		}
	}
	return b.Bytes(), e.Close()
}

// parameters converts the parameters of the in-tree provisioner, which read keys in any case.
func (w *classWriter) parameters(p pair) {
	into := mapping()
	w.made.node.Content = append(w.made.node.Content, p.key, into)
	w.made.parameters = into
	w.note(p, "parameters", judgment{verdict: Kept, to: []string{"parameters"}})
	for _, q := range pairs(p.value) {
		path := "parameters." + q.key.Value
		change := func(to, why string) {
			if field(into, to) != nil {
				w.refuse(q, path, "is set already, by another name", "")
				return
			}
			put(into, to, q.value)
			j := judgment{verdict: Changed, to: []string{"parameters." + to}, why: why}
			if to == q.key.Value {
				j.verdict = Kept
			}
			w.note(q, path, j)
		}
		switch strings.ToLower(q.key.Value) {
		case "storagepolicyname":
			change(names.ParameterPolicy, "")
			w.made.wants = false // a datastore was found that complies
		case "fstype", names.ParameterFSType:
			change(names.ParameterFSType, "")
		case "datastore":
			w.datastore(q, path)
		case "diskformat":
			why := "volumes are thin where their storage policy says nothing else"
			if !strings.EqualFold(q.value.Value, "thin") {
				why = "a storage policy says it now: " + why
				w.c.attend("StorageClass " + w.made.name + ": disks were " + q.value.Value + ", and are thin now. Name a storage policy for it in storagepolicyname")
			}
			w.note(q, path, judgment{verdict: Dropped, why: why})
		case "hostfailurestotolerate", "forceprovisioning", "cachereservation", "diskstripes", "objectspacereservation", "iopslimit":
			w.c.attend("StorageClass " + w.made.name + ": make a storage policy of its vSAN capabilities, and name it in storagepolicyname; without it volumes get the datastore's default policy")
			w.note(q, path, judgment{verdict: Dropped, why: "vSAN capabilities are in a storage policy now: the CSI driver takes no others"})
		default:
			w.refuse(q, path, "unknown parameter", near(q.key.Value, "datastore", "diskformat", "fstype", "storagePolicyName",
				"hostFailuresToTolerate", "forceProvisioning", "cacheReservation", "diskStripes", "objectSpaceReservation", "iopsLimit"))
		}
	}
}

// datastore makes a URL of a datastore's name.
func (w *classWriter) datastore(q pair, path string) {
	w.made.wants = w.made.wants && text(q.value) == ""
	if text(q.value) == "" {
		w.note(q, path, judgment{verdict: Dropped, why: saysNothing})
		return
	}
	if field(w.made.parameters, names.ParameterDatastore) != nil {
		w.refuse(q, path, "is set already, by another name", "")
		return
	}
	url := w.urls.of(q.value.Value)
	if url == "" {
		w.c.attendURL(w.made.name, q.value.Value)
		w.note(q, path, judgment{verdict: Dropped, why: "a class names a datastore by its URL, and that of " + q.value.Value + " is not known"})
		return
	}
	put(w.made.parameters, names.ParameterDatastore, scalar(url))
	w.note(q, path, judgment{verdict: Changed, to: []string{"parameters." + names.ParameterDatastore}, why: "a datastore is named by its URL"})
}

// classWriter converts one StorageClass, entry by entry, so that comments and order stay.
type classWriter struct {
	c        *conversion
	o        object
	urls     *urls
	made     class
	problems []config.Problem
}

// notify reports on an entry, by its path in the class.
func (w *classWriter) note(p pair, path string, j judgment) {
	for i, to := range j.to {
		j.to[i] = toClasses + w.made.name + ": " + to
	}
	w.c.note(w.o.file, p.key.Line, w.o.title()+" "+path, j)
}

// refuse notes what cannot be carried over, or drops it with Force.
func (w *classWriter) refuse(p pair, path, message, hint string) {
	if w.c.opts.Force {
		if hint != "" {
			message += ", " + hint
		}
		w.note(p, path, judgment{verdict: Dropped, why: message})
		return
	}
	w.problems = append(w.problems, config.Problem{
		File: w.o.file, Line: p.key.Line, Column: p.key.Column, Path: w.o.title() + " " + path, Message: message, Hint: hint,
	})
}

// keep copies an entry unchanged.
func (w *classWriter) keep(into *yaml.Node, p pair, path string) {
	into.Content = append(into.Content, p.key, p.value)
	w.note(p, path, judgment{verdict: Kept, to: []string{path}})
}

// single refuses duplicate keys of a mapping: one of the values would be lost.
func (w *classWriter) single(n *yaml.Node) {
	seen := map[string]int{}
	for _, p := range pairs(n) {
		if line, again := seen[p.key.Value]; again && len(w.problems) < mostProblems {
			w.problems = append(w.problems, config.Problem{
				File: w.o.file, Line: p.key.Line, Column: p.key.Column, Path: w.o.title() + " " + p.key.Value, Message: "is set already", Hint: lineHint(line),
			})
		}
		seen[p.key.Value] = p.key.Line
	}
	for _, item := range n.Content {
		w.single(item)
	}
}

func (w *classWriter) write() {
	w.made.name = w.o.name()
	w.single(w.o.node)
	for _, p := range pairs(w.o.node) {
		switch key := p.key.Value; key {
		case "apiVersion":
			w.version(p)
		case "kind", "reclaimPolicy", "allowVolumeExpansion", "volumeBindingMode", "mountOptions":
			w.keep(w.made.node, p, key)
		case "provisioner":
			w.made.node.Content = append(w.made.node.Content, p.key, scalar(names.Driver))
			w.note(p, key, judgment{verdict: Changed, to: []string{key}, why: "the CSI driver is " + names.Driver})
		case "metadata":
			w.metadata(p)
		case "parameters":
			w.parameters(p)
		case "allowedTopologies":
			w.topologies(p)
		default:
			w.refuse(p, key, "unknown field", near(key, "apiVersion", "kind", "reclaimPolicy", "allowVolumeExpansion",
				"volumeBindingMode", "mountOptions", "provisioner", "metadata", "parameters", "allowedTopologies"))
		}
	}
}

// near returns the hint for an unknown name.
func near(name string, all ...string) string {
	if best := nearest.Of(name, all); best != "" {
		return "did you mean " + best + "?"
	}
	return ""
}

func (w *classWriter) version(p pair) {
	const now = "storage.k8s.io/v1"
	switch p.value.Value {
	case now:
		w.keep(w.made.node, p, "apiVersion")
	case now + "beta1":
		w.made.node.Content = append(w.made.node.Content, p.key, scalar(now))
		w.note(p, "apiVersion", judgment{verdict: Changed, to: []string{"apiVersion"}, why: now + "beta1 is served no more"})
	default:
		w.problems = append(w.problems, config.Problem{
			File: w.o.file, Line: p.key.Line, Column: p.key.Column, Path: w.o.title() + " apiVersion", Message: "is not that of a StorageClass", Hint: "write " + now,
		})
	}
}

// metadata keeps what a person has written.
func (w *classWriter) metadata(p pair) {
	into := mapping()
	w.made.node.Content = append(w.made.node.Content, p.key, into)
	w.note(p, "metadata", judgment{verdict: Kept, to: []string{"metadata"}})
	for _, m := range pairs(p.value) {
		path := "metadata." + m.key.Value
		switch m.key.Value {
		case "name", "labels", "finalizers":
			w.keep(into, m, path)
		case "annotations":
			w.annotations(into, m)
		case "uid", "resourceVersion", "creationTimestamp", "selfLink", "generation", "managedFields":
			w.note(m, path, judgment{verdict: Dropped, why: "was given by the cluster, which gives another"})
		default:
			w.refuse(m, path, "unknown field", near(m.key.Value, "name", "labels", "annotations"))
		}
	}
}

// isDefault is the annotation of the class for claims that name no class.
const isDefault = "storageclass.kubernetes.io/is-default-class"

// defaultClass renames the beta annotation; now is the value of the current one, or nil. Either of them makes a class the
// default.
func (w *classWriter) defaultClass(into *yaml.Node, a pair, now *yaml.Node, path string) {
	switch {
	case now == nil:
		put(into, isDefault, a.value)
		w.note(a, path, judgment{verdict: Changed, to: []string{"metadata.annotations." + isDefault}, why: "is the beta name of it"})
	case text(now) == text(a.value):
		w.note(a, path, judgment{verdict: Dropped, why: "is the beta name of " + isDefault + ", which stands beside it and says the same"})
	default:
		w.refuse(a, path, "says otherwise than "+isDefault, "")
	}
}

func (w *classWriter) annotations(metadata *yaml.Node, p pair) {
	into := mapping()
	w.note(p, "metadata.annotations", judgment{verdict: Kept, to: []string{"metadata.annotations"}})
	for _, a := range pairs(p.value) {
		path := "metadata.annotations." + a.key.Value
		switch a.key.Value {
		case "kubectl.kubernetes.io/last-applied-configuration":
			w.note(a, path, judgment{verdict: Dropped, why: "was written by kubectl, which writes another"})
		case "storageclass.beta.kubernetes.io/is-default-class":
			w.defaultClass(into, a, field(p.value, isDefault), path)
		default:
			w.keep(into, a, path)
		}
	}
	if len(into.Content) > 0 {
		metadata.Content = append(metadata.Content, p.key, into)
	}
}

// topologies changes the keys of nodes' labels into those of the driver.
func (w *classWriter) topologies(p pair) {
	const path = "allowedTopologies"
	if !w.c.zones() {
		w.refuse(p, path, "volumes were kept to zones, and the file names no tag categories of them", "set region and zone under [Labels]")
		return
	}
	w.made.node.Content = append(w.made.node.Content, p.key, p.value)
	w.note(p, path, judgment{verdict: Kept, to: []string{path}})
	for _, term := range p.value.Content {
		for _, expressions := range pairs(term) {
			w.note(expressions, path+"."+expressions.key.Value, judgment{verdict: Kept, to: []string{path}})
			for _, expression := range expressions.value.Content {
				w.expression(expression, path)
			}
		}
	}
}

func (w *classWriter) expression(n *yaml.Node, path string) {
	for _, p := range pairs(n) {
		if p.key.Value != "key" {
			w.note(p, path+" "+p.key.Value, judgment{verdict: Kept, to: []string{path}, why: "a tag's name, as before"})
			continue
		}
		category := ""
		switch p.value.Value {
		case "topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone":
			category = w.c.cfg.Labels.Zone
		case "topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region":
			category = w.c.cfg.Labels.Region
		default:
			w.problems = append(w.problems, config.Problem{
				File: w.o.file, Line: p.value.Line, Column: p.value.Column, Path: w.o.title() + " " + path,
				Message: fmt.Sprintf("%q is not the label of a region or a zone", p.value.Value), Hint: near(p.value.Value, "topology.kubernetes.io/zone", "topology.kubernetes.io/region"),
			})
			continue
		}
		*p.value = yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: names.TopologyPrefix + category, Line: p.value.Line}
		w.note(p, path+" key", judgment{verdict: Changed, to: []string{path}, why: "the driver knows a zone by its tag category: " + names.TopologyPrefix + category})
	}
}
