package store

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"path"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vim25/xml"
	"golang.org/x/sync/errgroup"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/dialect"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/inventory"
)

// readObjects reads the files of objects, in the order of their names.
func (l *Loaded) readObjects(f *folder) {
	var names []string
	for _, e := range f.list(".") {
		if !e.IsDir() && path.Ext(e.Name()) == objectExt {
			if l.manifest.Files != nil && l.manifest.Files[e.Name()] == "" && l.manifest.Format > 0 {
				l.note("%s is not listed in %s, and was edited or added since", e.Name(), manifestName)
			}
			names = append(names, e.Name())
		}
	}
	found := make([]*item, len(names))
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, name := range names {
		g.Go(func() error {
			found[i] = readObject(f, name)
			return nil
		})
	}
	_ = g.Wait() // the folder has the problems
	for _, o := range found {
		if o != nil {
			l.order = append(l.order, o)
		}
	}
}

func readObject(f *folder, name string) *item {
	data, ok := f.read(name)
	if !ok {
		return nil
	}
	data = dialect.InnerSwitches(data)
	o := &item{file: name, data: data}
	if !parse(f, name, data, &o.raw) {
		return nil
	}
	o.ref = o.raw.Obj
	problem := func(line int, try, format string, args ...any) *item {
		f.add(Problem{File: name, Line: line, What: fmt.Sprintf(format, args...), Try: try})
		return nil
	}
	switch {
	case o.ref.Type == "" || o.ref.Value == "":
		return problem(1, tryAgain, "is no managed object")
	case !mo.IsManagedObjectType(o.ref.Type):
		return problem(lineOf(data, "<obj"), tryDelete, "managed objects of the type %s are unknown to this release", o.ref.Type)
	}
	// Unknown types were reported: what remains is a property without a type.
	o.raw.PropSet = slices.DeleteFunc(o.raw.PropSet, func(p types.DynamicProperty) bool { return p.Val == nil })
	return o
}

// parse decodes a value, and reports problems.
func parse(f *folder, name string, data []byte, v any) bool {
	if line := tooDeep(data); line > 0 {
		f.add(Problem{File: name, Line: line, What: fmt.Sprintf("elements are nested more than %d deep", deepest), Try: tryAgain})
		return false
	}
	if kind, line := unknownType(data); kind != "" {
		f.add(Problem{File: name, Line: line, What: fmt.Sprintf("values of the type %s are unknown to this release", kind), Try: tryNewer + "\n" + tryDelete})
		return false
	}
	line, err := decode(data, v)
	if err == nil {
		return true
	}
	what := err.Error()
	if syntax, ok := errors.AsType[*xml.SyntaxError](err); ok {
		line, what = syntax.Line, syntax.Msg
	}
	f.add(Problem{File: name, Line: line, What: "is no XML of an object: " + what, Try: tryAgain})
	return false
}

// unknownType returns a type of the API that this release does not know; decoding would omit the value.
func unknownType(data []byte) (kind string, line int) {
	known := types.TypeFunc()
	attribute := []byte(`:type="`)
	for i := 0; ; {
		j := bytes.Index(data[i:], attribute)
		if j < 0 {
			return "", 0
		}
		before := data[:i+j]
		i += j + len(attribute)
		end := bytes.IndexByte(data[i:], '"')
		if end < 0 {
			return "", 0
		}
		if !bytes.HasSuffix(before, []byte("XMLSchema-instance")) && !bytes.HasSuffix(before, []byte("xsi")) {
			continue
		}
		name := string(data[i : i+end])
		if strings.HasPrefix(name, "xsd:") || strings.HasPrefix(name, "xs:") {
			continue
		}
		if _, ok := known(name); !ok {
			return name, lineAt(data, int64(i))
		}
	}
}

// readAnswers reads the saved answers of the object's methods.
func (l *Loaded) readAnswers(f *folder, o *item) {
	name := o.ref.Encode()
	if outer := "Vmware" + name; o.ref.Type == "DistributedVirtualSwitch" && len(f.list(outer)) > 0 {
		name = outer // its name on the wire
	}
	for _, e := range f.list(name) {
		method := strings.TrimSuffix(e.Name(), objectExt)
		v := answerOf(method)
		if e.IsDir() || v == nil {
			continue // stock has newer releases
		}
		file := path.Join(name, e.Name())
		if data, ok := f.read(file); ok && parse(f, file, data, v) {
			if o.answers == nil {
				o.answers = make(map[string]any)
			}
			o.answers[method] = reflect.ValueOf(v).Elem().Interface()
		}
	}
}

func answerOf(method string) any {
	switch method {
	case "FetchDVPorts":
		return new(types.FetchDVPortsResponse)
	case "QueryConfigOption":
		return new(types.QueryConfigOptionResponse)
	case "QueryConfigOptionDescriptor":
		return new(types.QueryConfigOptionDescriptorResponse)
	case "QueryConfigTarget":
		return new(types.QueryConfigTargetResponse)
	case "QueryTargetCapabilities":
		return new(types.QueryTargetCapabilitiesResponse)
	case "QueryNetworkHint":
		return new(types.QueryNetworkHintResponse)
	case "QueryTpmAttestationReport":
		return new(types.QueryTpmAttestationReportResponse)
	case "GetAlarm":
		return new(types.GetAlarmResponse)
	}
	return nil
}

// encode writes a value as govc does.
func encode(w io.Writer, v any) error {
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	return e.Encode(v)
}

// decode decodes a value. line is where reading ended.
func decode(data []byte, v any) (line int, err error) {
	d := xml.NewDecoder(bytes.NewReader(data))
	d.TypeFunc = types.TypeFunc()
	err = d.Decode(v)
	return lineAt(data, d.InputOffset()), err
}

// lineAt returns the line of an offset.
func lineAt(data []byte, offset int64) int {
	return 1 + bytes.Count(data[:min(max(offset, 0), int64(len(data)))], []byte("\n"))
}

// lineOf returns the first line with a text, or 0.
func lineOf(data []byte, text string) int {
	i := bytes.Index(data, []byte(text))
	if i < 0 {
		return 0
	}
	return lineAt(data, int64(i))
}

// deepest limits the nesting of elements in a saved object. Real ones stay below 20; decoding is recursive.
const deepest = 200

// tooDeep returns the line at which elements exceed that limit, or 0. It counts tags, also in comments, which saved objects do
// not have.
func tooDeep(data []byte) int {
	depth := 0
	for i := 0; i < len(data); {
		j := bytes.IndexByte(data[i:], '<')
		if j < 0 || i+j+1 >= len(data) {
			return 0
		}
		i += j + 1
		end := bytes.IndexByte(data[i:], '>')
		if end < 0 {
			return 0
		}
		switch {
		case data[i] == '/':
			depth--
		case data[i] == '!', data[i] == '?':
		case end > 0 && data[i+end-1] == '/':
		default:
			if depth++; depth > deepest {
				return lineAt(data, int64(i))
			}
		}
		i += end
	}
	return 0
}

// paths returns the objects of the tree with their inventory paths.
func (in *installer) paths() []inventory.Object {
	all := []inventory.Object{{Path: "/", Ref: in.content.RootFolder}}
	for _, o := range in.order {
		e, ok := o.obj.(mo.Entity)
		if !ok || !isEntity(o.ref.Type) || o.ref == in.content.RootFolder {
			continue
		}
		all = append(all, inventory.Object{Path: in.path(e.Entity()), Ref: o.ref})
	}
	return all
}

func (in *installer) path(e *mo.ManagedEntity) string {
	var names []string
	for e.Self != in.content.RootFolder {
		names = append(names, e.Name)
		parent := e.Parent
		if parent == nil {
			break
		}
		up, ok := in.entity(vc.Ref{Type: parent.Type, Value: parent.Value})
		if !ok {
			break
		}
		e = up
	}
	slices.Reverse(names)
	return "/" + strings.Join(names, "/")
}

// entityTypes returns the types of the inventory tree, in the order of saving: stock's loader needs a host before its parts.
func entityTypes() []string {
	return []string{
		"Folder", "Datacenter", "StoragePod", "Datastore", "Network", "OpaqueNetwork",
		"DistributedVirtualSwitch", "VmwareDistributedVirtualSwitch", "DistributedVirtualPortgroup",
		"ComputeResource", "ClusterComputeResource", "HostSystem", "ResourcePool", "VirtualApp", "VirtualMachine",
	}
}

// isEntity reports whether the type is one of the inventory tree.
func isEntity(kind string) bool { return slices.Contains(entityTypes(), kind) }

// compareRefs orders references numerically: vm-9 before vm-10.
func compareRefs(a, b vc.Ref) int {
	an, bn := number(a.Value), number(b.Value)
	return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(an, bn), cmp.Compare(a.Value, b.Value))
}

// number returns the number at the end of a reference, or -1.
func number(value string) int64 {
	digits := value[len(strings.TrimRight(value, "0123456789")):]
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return -1
	}
	return n
}

func distinct(refs []vc.Ref) []vc.Ref {
	slices.SortFunc(refs, compareRefs)
	return slices.Compact(refs)
}
