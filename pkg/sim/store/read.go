package store

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"reflect"
	"runtime"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vim25/xml"
	"golang.org/x/sync/errgroup"
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
	_ = g.Wait() // problems are told to the folder
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
	// A value of a type that is unknown was found before: one that is left is of a property without one.
	o.raw.PropSet = slices.DeleteFunc(o.raw.PropSet, func(p types.DynamicProperty) bool { return p.Val == nil })
	return o
}

// parse reads a value, and tells what is wrong with it.
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

// unknownType finds a type of the API that this release does not know; decoding would leave the value out.
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

// readAnswers reads what methods of the object answered.
func (l *Loaded) readAnswers(f *folder, o *item) {
	name := o.ref.Encode()
	for _, e := range f.list(name) {
		method := strings.TrimSuffix(e.Name(), objectExt)
		v := answerOf(method)
		if e.IsDir() || v == nil {
			continue // stock has newer releases than this one knows of
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
