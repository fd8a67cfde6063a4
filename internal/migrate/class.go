package migrate

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

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
