package inventory

import (
	"fmt"
	"os"
	"reflect"
	"unsafe"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/simulator"
)

// fill sets the two fields of vcsim's VM that have no other way in: the file that every power operation adds a line to,
// and the UUID that the VM's world number is made of. Only vcsim's CreateVM sets them, and that copies the default devices
// through XML, one VM at a time, which is most of the time that a large inventory would take.
//
// The line goes nowhere: it is not what a vmware.log holds, and vcsim would write it to the old place when the VM has been
// relocated.
//
// A vcsim that has no such fields is an error, found by the first test that builds a VM.
func fill(vm *simulator.VirtualMachine, id uuid.UUID) error {
	v := reflect.ValueOf(vm).Elem()
	if err := set(v, "log", os.DevNull); err != nil {
		return err
	}
	return set(v, "uid", id)
}

// set writes a field that is not exported.
func set[T any](v reflect.Value, name string, value T) error {
	f := v.FieldByName(name)
	if !f.IsValid() || f.Type() != reflect.TypeFor[T]() {
		return fmt.Errorf("simulator.VirtualMachine has no field %s of type %T", name, value)
	}
	*(*T)(unsafe.Pointer(f.UnsafeAddr())) = value
	return nil
}
