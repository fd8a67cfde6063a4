package sandbox

import "github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"

// volumeItems lists the volumes that CNS knows, each with its claim, if Kubernetes has one for it.
func (s *Sandbox) volumeItems() []fault.Item {
	claims := map[string]string{}
	for _, v := range s.storage.Rows() {
		if v.Handle != "" {
			claims[v.Handle] = v.Claim
		}
	}
	var items []fault.Item
	for _, vc := range s.vcenters {
		for _, v := range vc.Volumes() {
			items = append(items, fault.Item{Kind: fault.Volume, VCenter: vc.Name(), Name: v.Name, ID: v.ID, Claim: claims[v.ID]})
		}
	}
	return items
}
