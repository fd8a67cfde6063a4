package dialect

import (
	_ "embed"
	"reflect"
	"strings"
	"sync"

	"github.com/vmware/govmomi/vim25/types"
)

// newerText has a line for each type that gained properties after vSphere API 6.7.1: the type, then the properties. It is what
// govmomi v0.56 (API 9.1) has of the types of that time, and pyvmomi 6.7.1 has not.
//
//go:embed newer.txt
var newerText string

// newer is newerText by type.
var newer = sync.OnceValue(func() map[string]map[string]bool {
	all := map[string]map[string]bool{}
	for line := range strings.Lines(newerText) {
		words := strings.Fields(line)
		all[words[0]] = map[string]bool{}
		for _, property := range words[1:] {
			all[words[0]][property] = true
		}
	}
	return all
})

// dropNewer removes properties newer than API 6.7.1 from an answer.
func dropNewer(doc []byte) []byte {
	var (
		byName = types.TypeFunc()
		out    = make([]byte, 0, len(doc))
		copied int
		open   []reflect.Type // of the open elements; nil: unknown
		dropAt = -1           // the depth of the dropped element
	)
	for from := 0; ; {
		t, ok := next(doc, from)
		if !ok {
			break
		}
		from = t.end
		if t.close {
			if len(open) == 0 {
				return doc // not from vcsim
			}
			open = open[:len(open)-1]
			if len(open) == dropAt {
				dropAt, copied = -1, t.end
			}
			continue
		}
		var typ reflect.Type
		if name := t.xsiType(); name != nil {
			typ, _ = byName(string(name))
		} else if n := len(open); n > 0 && open[n-1] != nil {
			var fresh bool
			if typ, fresh = property(open[n-1], string(t.name)); fresh && dropAt < 0 {
				out = append(out, doc[copied:t.start]...)
				dropAt = n
			}
		} else {
			typ = answers()[string(t.name)]
		}
		open = append(open, typ)
	}
	if dropAt >= 0 {
		return doc
	}
	return append(out, doc[copied:]...)
}

// answers maps elements to the types of answers with newer properties. govmomi has no such table.
var answers = sync.OnceValue(func() map[string]reflect.Type {
	all := map[string]reflect.Type{}
	for _, answer := range []any{
		types.RetrieveServiceContentResponse{},
		types.RetrievePropertiesResponse{},
		types.RetrievePropertiesExResponse{},
		types.ContinueRetrievePropertiesExResponse{},
		types.WaitForUpdatesResponse{},
		types.WaitForUpdatesExResponse{},
		types.CheckForUpdatesResponse{},
		types.QueryConfigOptionResponse{},
		types.QueryConfigOptionExResponse{},
		types.QueryConfigTargetResponse{},
		types.QueryEventsResponse{},
		types.ReadNextEventsResponse{},
		types.ReadPreviousEventsResponse{},
		types.ReadNextTasksResponse{},
		types.ReadPreviousTasksResponse{},
	} {
		t := reflect.TypeOf(answer)
		all[t.Name()] = t
	}
	return all
})

// property returns the type of a property, nil if unknown, and whether the property is newer than API 6.7.1.
func property(of reflect.Type, name string) (typ reflect.Type, fresh bool) {
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
		of = of.Elem()
	}
	if of.Kind() != reflect.Struct {
		return nil, false
	}
	for f := range of.Fields() {
		tag, _, _ := strings.Cut(f.Tag.Get("xml"), ",")
		switch {
		case f.Anonymous:
			if typ, fresh := property(f.Type, name); typ != nil {
				return typ, fresh
			}
		case tag == name:
			return f.Type, newer()[of.Name()][name]
		}
	}
	return nil, false
}
