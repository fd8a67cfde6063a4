package corrections

import (
	"reflect"
	"slices"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// expected maps arguments to the types that vcsim requires without checking.
var expected = map[string][]string{
	"Pool":         {"ResourcePool", "VirtualApp"},
	"ResourcePool": {"ResourcePool", "VirtualApp"},
	"Host":         {"HostSystem"},
	"Datastore":    {"Datastore"},
	"Datacenter":   {"Datacenter"},
	"Folder":       {"Folder"},
	"Vm":           {"VirtualMachine"},
	"Template":     {"VirtualMachine"},
	"Pod":          {"StoragePod"},

	"SourceDatacenter":      {"Datacenter"},
	"DestDatacenter":        {"Datacenter"},
	"DestinationDatacenter": {"Datacenter"},
}

// required are arguments that vcsim dereferences without checking.
var required = map[string][]string{
	"CreateVM_Task":                    {"Pool"},
	"CloneVM_Task":                     {"Folder"},
	"CreateDVS_Task":                   {"Spec.ConfigSpec"},
	"CreateDisk_Task":                  {"Spec.BackingSpec"},
	"ReconcileDatastoreInventory_Task": {"Datastore"},
	"ConfigureStorageDrsForPod_Task":   {"Pod"},
	"MakeDirectory":                    {"Datacenter"},
	"QueryVirtualDiskUuid":             {"Datacenter"},
	"SetVirtualDiskUuid":               {"Datacenter"},
	"MoveVirtualDisk_Task":             {"SourceDatacenter"},
	"CopyVirtualDisk_Task":             {"SourceDatacenter"},
	"PostEvent":                        {"EventToPost"},
	"CreateAlarm":                      {"Spec"},
}

// named maps methods to the argument with the new name. vcsim accepts an empty name, and then panics on each search by name in
// the folder.
var named = map[string]string{
	"Rename_Task":        "NewName",
	"RenameDatastore":    "NewName",
	"CreateFolder":       "Name",
	"CreateDatacenter":   "Name",
	"CreateCluster":      "Name",
	"CreateClusterEx":    "Name",
	"CreateStoragePod":   "Name",
	"CreateResourcePool": "Name",
	"CreateVApp":         "Name",
	"CloneVM_Task":       "Name",
	"CreateVM_Task":      "Config.Name",
	"CreateChildVM_Task": "Config.Name",
	"CreateDVS_Task":     "Spec.ConfigSpec.Name",
}

var refType = reflect.TypeFor[vc.Ref]()

// checkArguments checks every reference in a call, and the required arguments.
func checkArguments(ctx *simulator.Context, method *simulator.Method) types.BaseMethodFault {
	if slices.Contains(readers, method.This.Type) {
		return nil
	}
	body := reflect.ValueOf(method.Body)
	if body.Kind() == reflect.Pointer {
		body = body.Elem()
	}
	if body.Kind() != reflect.Struct {
		return nil
	}
	for _, path := range required[method.Name] {
		if f := field(body, path); !f.IsValid() || f.IsZero() {
			return &types.InvalidArgument{InvalidProperty: spelled(path)}
		}
	}
	if path, ok := named[method.Name]; ok {
		if f := field(body, path); !f.IsValid() || f.IsZero() {
			return new(types.InvalidName)
		}
	}
	escapeNames(method, body)
	fault := checkFolder(ctx, method, body)
	if fault != nil {
		return fault
	}
	walk(body, "", 0, func(field string, ref vc.Ref) bool {
		fault = checkReference(ctx, field, ref)
		return fault == nil
	})
	return fault
}

// checkFolder refuses VMs in folders for other types, whose datacenter vcsim would not find.
func checkFolder(ctx *simulator.Context, method *simulator.Method, body reflect.Value) types.BaseMethodFault {
	ref := method.This
	switch method.Name {
	case "CreateVM_Task", "RegisterVM_Task":
	case "CloneVM_Task":
		ref, _ = reflect.TypeAssert[vc.Ref](body.FieldByName("Folder"))
	default:
		return nil
	}
	f, ok := ctx.Map.Get(ref).(*simulator.Folder)
	if !ok || slices.Contains(f.ChildType, "VirtualMachine") {
		return nil
	}
	return new(types.NotSupported)
}

// readers are objects that check references themselves; they get most calls.
var readers = []string{"PropertyCollector", "PropertyFilter", "ViewManager", "ListView", "ContainerView", "SearchIndex"}

// field follows a path of fields; the result is invalid if part of it is missing.
func field(v reflect.Value, path string) reflect.Value {
	for name := range strings.SplitSeq(path, ".") {
		for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
			v = v.Elem()
		}
		if v.Kind() != reflect.Struct {
			return reflect.Value{}
		}
		v = v.FieldByName(name)
	}
	return v
}

// spelled returns the path of fields as the API spells it.
func spelled(path string) string {
	names := strings.Split(path, ".")
	for i, name := range names {
		names[i] = strings.ToLower(name[:1]) + name[1:]
	}
	return strings.Join(names, ".")
}

func checkReference(ctx *simulator.Context, field string, ref vc.Ref) types.BaseMethodFault {
	if ref.Value == "" {
		return nil // optional
	}
	if kinds, ok := expected[field]; ok && !slices.Contains(kinds, ref.Type) {
		return &types.InvalidArgument{InvalidProperty: spelled(field)}
	}
	if ctx.Map.Get(ref) == nil && ctx.Session.Get(ref) == nil {
		return &types.ManagedObjectNotFound{Obj: ref}
	}
	return nil
}

// maxDepth limits the walk; no argument of the API is nested as deeply.
const maxDepth = 20

// walk calls f for each reference below v with the name of its field, until f returns false.
func walk(v reflect.Value, field string, depth int, f func(field string, ref vc.Ref) bool) bool {
	if depth > maxDepth {
		return true
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return v.IsNil() || walk(v.Elem(), field, depth+1, f)
	case reflect.Struct:
		if v.Type() == refType {
			return f(field, v.Interface().(vc.Ref))
		}
		t := v.Type()
		for i := range v.NumField() {
			if t.Field(i).IsExported() && !walk(v.Field(i), t.Field(i).Name, depth+1, f) {
				return false
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return true
		}
		for i := range v.Len() {
			if !walk(v.Index(i), field, depth+1, f) {
				return false
			}
		}
	}
	return true
}
