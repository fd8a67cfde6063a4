package truth

import (
	"reflect"

	"github.com/vmware/govmomi/vim25/types"
)

// copyDevices copies devices with their backings. Answers to clients may hold the old ones, so changes need a copy.
func copyDevices(devices []types.BaseVirtualDevice) []types.BaseVirtualDevice {
	copies := make([]types.BaseVirtualDevice, len(devices))
	for i, d := range devices {
		copies[i] = shallow(d)
		if v := copies[i].GetVirtualDevice(); v.Backing != nil {
			v.Backing = shallow(v.Backing)
		}
	}
	return copies
}

// shallow copies what the interface value x points to.
func shallow[T any](x T) T {
	v := reflect.ValueOf(x)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return x
	}
	c := reflect.New(v.Type().Elem())
	c.Elem().Set(v.Elem())
	return c.Interface().(T)
}
