package corrections

import (
	"reflect"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// A vCenter stores /, \ and % in names as %2f, %5c and %25, where a % that starts one of these stays as it is. vcsim does so in
// CreateFolder and CreateVM_Task only, and there it escapes what is escaped already.
//
// Source: API, the parameter name of CreateFolder, Rename_Task, CloneVM_Task …

// escaped returns a name as a vCenter stores it.
func escaped(name string) string {
	if !strings.ContainsAny(name, `/\%`) {
		return name
	}
	var b strings.Builder
	for i := range len(name) {
		switch c := name[i]; {
		case c == '/':
			b.WriteString("%2f")
		case c == '\\':
			b.WriteString("%5c")
		case c == '%' && !isEscape(name[i:]):
			b.WriteString("%25")
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// isEscape reports whether an escape sequence is at the start of the text.
func isEscape(s string) bool {
	if len(s) < 3 {
		return false
	}
	switch strings.ToLower(s[:3]) {
	case "%2f", "%5c", "%25":
		return true
	}
	return false
}

// raw reverts escaped.
func raw(name string) string {
	return strings.NewReplacer("%25", "%", "%2f", "/", "%2F", "/", "%5c", `\`, "%5C", `\`).Replace(name)
}

// escapers are the methods after which vcsim escapes the name.
var escapers = map[string]bool{"CreateFolder": true, "CreateVM_Task": true, "CreateChildVM_Task": true}

// optional names: those that a call need not set, as named.
var optionalNames = map[string][]string{
	"ReconfigVM_Task":     {"Spec.Name"},
	"InstantClone_Task":   {"Spec.Name"},
	"ReconfigureDvs_Task": {"Spec.Name"},
	"AddDVPortgroup_Task": {"Spec"},
	"UpdateConfig":        {"Name"},
}

// escapeNames escapes the names that a call gives to objects.
func escapeNames(method *simulator.Method, body reflect.Value) {
	escape := escaped
	if escapers[method.Name] {
		escape = func(name string) string { return raw(escaped(name)) }
	}
	set := func(f reflect.Value) {
		if f.Kind() == reflect.String && f.CanSet() {
			if name := escape(f.String()); name != f.String() {
				f.SetString(name)
			}
		}
	}
	if path, ok := named[method.Name]; ok {
		set(field(body, path))
	}
	for _, path := range optionalNames[method.Name] {
		f := field(body, path)
		if f.Kind() != reflect.Slice {
			set(f)
			continue
		}
		for i := range f.Len() {
			set(field(f.Index(i), "Name"))
		}
	}
}

// collapse corrects the name of a new VM that vcsim escaped twice: a clone, whose name was escaped before. The VM is locked.
func collapse(ctx *simulator.Context, vm *simulator.VirtualMachine) {
	name := strings.NewReplacer("%252f", "%2f", "%252F", "%2F", "%255c", "%5c", "%255C", "%5C", "%2525", "%25").Replace(vm.Name)
	if name != vm.Name {
		ctx.Update(vm, []types.PropertyChange{vc.P("name", name), vc.P("config.name", name), vc.P("summary.config.name", name)})
	}
}
