package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"slices"
	"strings"

	pbmtypes "github.com/vmware/govmomi/pbm/types"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/rest"
)

// Loaded is a saved inventory, read and checked. Create one with [Load]; it is for one vCenter: [Loaded.Install] passes its
// objects on.
type Loaded struct {
	dir      string
	manifest manifest
	content  types.ServiceContent
	rootName string
	objects  map[vc.Ref]*item
	order    []*item
	tags     rest.Snapshot
	access   access
	policies []pbmtypes.BasePbmProfile
	notes    []string
}

// item is one saved object.
type item struct {
	ref     vc.Ref
	file    string
	data    []byte // until checked
	raw     types.ObjectContent
	obj     mo.Reference   // of vcsim's type, if it has one
	answers map[string]any // of methods
}

// Load reads a folder of [Save] or of govc's object.save. If the folder is invalid, the error is an [*Error] with all problems.
func Load(dir string) (*Loaded, error) {
	f, err := open(dir)
	if err != nil {
		return nil, err
	}
	defer f.close()
	l := &Loaded{dir: dir, objects: make(map[vc.Ref]*item)}
	// Each step needs the results of the previous ones.
	for _, step := range []func(*folder){l.readManifest, l.readObjects, l.index, l.build, l.readOwn, l.check, l.checkTags} {
		step(f)
		if err := f.failed(); err != nil {
			return nil, err
		}
	}
	for _, o := range l.order {
		o.data = nil
	}
	return l, nil
}

// readManifest reads sandbox.json, if it exists, and verifies the checksums.
func (l *Loaded) readManifest(f *folder) {
	data, ok := f.optional(manifestName)
	if !ok {
		l.manifest.Files = nil
		return
	}
	var version struct {
		Format int `json:"format"`
	}
	if err := json.Unmarshal(data, &version); err != nil {
		f.add(Problem{File: manifestName, Line: jsonLine(data, err), What: "is no JSON: " + err.Error(), Try: tryAgain})
		return
	}
	if version.Format > formatVersion {
		f.add(Problem{
			File: manifestName, Line: lineOf(data, `"format"`), Try: tryNewer,
			What: fmt.Sprintf("is of format %d; this release reads up to %d", version.Format, formatVersion),
		})
		return
	}
	if err := json.Unmarshal(data, &l.manifest); err != nil || version.Format < 1 || len(l.manifest.Files) == 0 {
		what := "has no format and files"
		if err != nil {
			what = err.Error()
		}
		f.add(Problem{File: manifestName, Line: jsonLine(data, err), What: what, Try: tryAgain})
		return
	}
	f.verify(data, l.manifest.Files)
}

// jsonLine returns the line of an error of package json.
func jsonLine(data []byte, err error) int {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return lineAt(data, syntax.Offset)
	}
	if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return lineAt(data, kind.Offset)
	}
	return 0
}

// index indexes the objects by reference, and finds the service content.
func (l *Loaded) index(f *folder) {
	for _, o := range l.order {
		if other, ok := l.objects[o.ref]; ok {
			f.add(Problem{
				File: o.file, Line: lineOf(o.data, o.ref.Value), Try: tryAgain,
				What: fmt.Sprintf("%s %s is in %s, too", o.ref.Type, o.ref.Value, other.file),
			})
			continue
		}
		l.objects[o.ref] = o
	}
	instance := l.objects[serviceInstance()]
	if instance == nil {
		f.add(Problem{What: "has no ServiceInstance: it is no saved inventory, or of a part of one", Try: tryWhole})
		return
	}
	for _, p := range instance.raw.PropSet {
		if c, ok := p.Val.(types.ServiceContent); ok {
			l.content = c
		}
	}
	about := l.content.About
	switch {
	case l.content.RootFolder.Value == "":
		f.add(Problem{File: instance.file, Line: 1, What: "has no service content", Try: tryAgain})
	case about.ApiType != apiType:
		f.add(Problem{
			File: instance.file, Line: lineOf(instance.data, "<apiType>"), Try: "save a vCenter",
			What: fmt.Sprintf("is of a %q; only vCenters can be loaded", about.ApiType),
		})
	case l.objects[l.content.RootFolder] == nil:
		f.add(Problem{
			File: instance.file, Line: lineOf(instance.data, "<rootFolder"), Try: tryWhole,
			What: fmt.Sprintf("root folder %s is not in the folder", l.content.RootFolder.Value),
		})
	}
}

func serviceInstance() vc.Ref { return vc.Ref{Type: "ServiceInstance", Value: "ServiceInstance"} }

// build creates vcsim's objects.
func (l *Loaded) build(f *folder) {
	l.order = slices.DeleteFunc(l.order, func(o *item) bool { return o.ref == serviceInstance() || o.ref.Type == "Task" })
	for _, o := range l.order {
		if err := o.build(); err != nil {
			f.add(Problem{File: o.file, Line: lineOf(o.data, o.ref.Value), What: err.Error(), Try: tryAgain})
			continue
		}
		l.readAnswers(f, o)
	}
}

// readOwn reads the additional files.
func (l *Loaded) readOwn(f *folder) {
	if l.manifest.Format == 0 {
		return
	}
	read := func(name string, v any) {
		data, ok := f.optional(name)
		if !ok {
			return
		}
		if err := json.Unmarshal(data, v); err != nil {
			f.add(Problem{File: name, Line: jsonLine(data, err), What: err.Error(), Try: tryAgain})
		}
	}
	read(tagsName, &l.tags)
	read(accessName, &l.access)
	data, ok := f.optional(policiesName)
	if !ok {
		return
	}
	var set policySet
	if line, err := decodePolicies(data, &set); err != nil {
		f.add(Problem{File: policiesName, Line: line, What: err.Error(), Try: tryAgain})
	}
	l.policies = slices.DeleteFunc(set.Profile, func(p pbmtypes.BasePbmProfile) bool { return p == nil })
}

// note records what was left out: a folder that govc saved during changes has references to missing objects.
func (l *Loaded) note(format string, args ...any) {
	l.notes = append(l.notes, fmt.Sprintf(format, args...))
}

// Notes lists what was left out because it refers to missing objects; for references, after [Loaded.Install].
func (l *Loaded) Notes() []string {
	seen := make(map[string]bool)
	return slices.DeleteFunc(slices.Clone(l.notes), func(n string) bool {
		was := seen[n]
		seen[n] = true
		return was
	})
}

// Name returns the vCenter's name as a DNS label: the saved one, else the name of the folder.
func (l *Loaded) Name() string {
	if name := label(l.manifest.VCenter); name != "" {
		return name
	}
	if name := label(strings.TrimPrefix(baseName(l.dir), "vcsim-")); name != "" {
		return name
	}
	return "vcenter"
}

// label returns a name as a DNS label.
func label(name string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(name) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			b.WriteRune(r)
		} else if b.Len() > 0 {
			b.WriteByte('-')
		}
	}
	text := b.String()
	return strings.TrimRight(text[:min(len(text), 63)], "-")
}

// InstanceUUID returns the saved UUID of the vCenter.
func (l *Loaded) InstanceUUID() string { return l.content.About.InstanceUuid }

// Version returns the release of the saved vCenter ("8.0.3").
func (l *Loaded) Version() string { return l.content.About.Version }

// Tags returns the categories, tags and associations, for rest.Handler.Restore. A folder of govc has none.
func (l *Loaded) Tags() rest.Snapshot { return l.tags }

// errNotDir is returned for a path that is not a folder.
var errNotDir = errors.New("is no folder")

// isMissing reports whether a file does not exist.
func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// Content returns the service content for simulator.NewServiceInstance: the saved one, with the managers that vcsim requires.
func (l *Loaded) Content() types.ServiceContent {
	c := l.content
	to, from := reflect.ValueOf(&c).Elem(), reflect.ValueOf(simulator.VPX().ServiceContent)
	for i := range to.NumField() {
		if f := to.Field(i); f.Kind() == reflect.Pointer && f.IsNil() {
			f.Set(from.Field(i))
		}
	}
	if !strings.Contains(c.About.FullName, "simulated") {
		c.About.FullName += " (simulated)"
	}
	return c
}

// RootFolder returns the root folder of the vCenter. [Loaded.Install] adds its children.
func (l *Loaded) RootFolder() mo.Folder {
	root := simulator.VPX().RootFolder
	root.Self, root.Name, root.ChildEntity = l.content.RootFolder, l.rootName, nil
	return root
}
