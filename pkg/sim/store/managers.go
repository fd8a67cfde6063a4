package store

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// saved finds the saved object behind a reference of the service content.
func saved[T mo.Reference](in *installer, ref *vc.Ref) (none T, ok bool) {
	if ref == nil || in.objects[*ref] == nil {
		return none, false
	}
	m, ok := in.objects[*ref].obj.(T)
	return m, ok
}

// managers takes over what managers know of the inventory.
func (in *installer) managers() {
	if from, ok := saved[*mo.ExtensionManager](in, in.content.ExtensionManager); ok && len(from.ExtensionList) > 0 {
		if to, ok := in.base.Map.Get(from.Self).(*simulator.ExtensionManager); ok {
			to.ExtensionList = from.ExtensionList
		}
	}
	if from, ok := saved[*mo.OptionManager](in, in.content.Setting); ok {
		if to, ok := in.base.Map.Get(from.Self).(*simulator.OptionManager); ok {
			to.Setting = settings(to.Setting, from.Setting)
		}
	}
	in.alarms()
}

// settings are those of the vCenter, with those that were saved over them. Those that say where the vCenter is and who
// administers it are its own.
func settings(own, saved []types.BaseOptionValue) []types.BaseOptionValue {
	out := slices.Clone(own)
	for _, o := range saved {
		if o == nil {
			continue
		}
		key := o.GetOptionValue().Key
		i := slices.IndexFunc(out, func(b types.BaseOptionValue) bool { return b.GetOptionValue().Key == key })
		switch {
		case i < 0:
			out = append(out, o)
		case strings.HasPrefix(key, "vcsim."), strings.HasPrefix(key, "config.vpxd.sso."), key == "VirtualCenter.InstanceName":
		default:
			out[i] = o
		}
	}
	return out
}

// alarms replaces vcsim's alarms by those that were saved.
func (in *installer) alarms() {
	if in.content.AlarmManager == nil {
		return
	}
	to, ok := in.base.Map.Get(*in.content.AlarmManager).(*simulator.AlarmManager)
	answer, asked := in.answer(*in.content.AlarmManager, "GetAlarm").(types.GetAlarmResponse)
	if !ok || !asked {
		return
	}
	kept := answer.Returnval[:0]
	for _, ref := range answer.Returnval {
		if in.objects[ref] != nil {
			kept = append(kept, ref)
		}
	}
	for _, ref := range to.GetAlarmResponse.Returnval {
		if !slices.Contains(kept, ref) {
			in.base.Map.Remove(vc.Fresh(in.base), ref)
		}
	}
	to.GetAlarmResponse.Returnval = kept
}

// highestField is the highest key of a custom field that new ones are kept from; real ones count from 1.
const highestField = 10000

// customFields takes over the custom fields. The key of the next one is a counter of vcsim's that only making fields
// moves; so this is done while there is nothing that fields could belong to.
func (in *installer) customFields() {
	from, ok := saved[*mo.CustomFieldsManager](in, in.content.CustomFieldsManager)
	if !ok || len(from.Field) == 0 {
		return
	}
	to, ok := in.base.Map.Get(from.Self).(*simulator.CustomFieldsManager)
	if !ok {
		return
	}
	highest := int32(0)
	for _, f := range from.Field {
		highest = max(highest, f.Key)
	}
	for i := int32(0); i <= min(highest, highestField); i++ {
		to.AddCustomFieldDef(vc.Fresh(in.base), &types.AddCustomFieldDef{
			This: to.Self, Name: fmt.Sprint(i), MoType: "none", // of no type that objects have: looked up among all
		})
		to.Field = nil
	}
	to.Field = from.Field
}
