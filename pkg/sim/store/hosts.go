package store

import (
	"reflect"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/simulator/esx"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// host sets the parts of the host that vcsim uses: saved ones, or else new ones.
func (in *installer) host(h *simulator.HostSystem, answers map[string]any) {
	if r, ok := answers["QueryTpmAttestationReport"].(types.QueryTpmAttestationReportResponse); ok {
		h.QueryTpmAttestationReportResponse = r
	}
	in.complete(&h.HostSystem)
	h.Summary.Runtime = &h.Runtime // vcsim shares them
	if h.Summary.Host == nil {
		h.Summary.Host = &h.Self
	}
	m := &h.ConfigManager
	switch p := in.part(&m.NetworkSystem, func() mo.Reference { return simulator.NewHostNetworkSystem(&h.HostSystem) }).(type) {
	case *simulator.HostNetworkSystem:
		p.Host = &h.HostSystem
		if r, ok := in.answer(p.Self, "QueryNetworkHint").(types.QueryNetworkHintResponse); ok {
			p.QueryNetworkHintResponse = r
		}
	}
	if p, ok := in.part(&m.VirtualNicManager, func() mo.Reference {
		return simulator.NewHostVirtualNicManager(&h.HostSystem)
	}).(*simulator.HostVirtualNicManager); ok {
		p.Host = &h.HostSystem
	}
	if p, ok := in.part(&m.CertificateManager, func() mo.Reference {
		return &simulator.HostCertificateManager{Host: &h.HostSystem}
	}).(*simulator.HostCertificateManager); ok {
		p.Host = &h.HostSystem
	}
	if p, ok := in.part(&m.DatastoreSystem, func() mo.Reference {
		return &simulator.HostDatastoreSystem{HostDatastoreSystem: mo.HostDatastoreSystem{Datastore: h.Datastore}}
	}).(*simulator.HostDatastoreSystem); ok {
		p.Host = &h.HostSystem
	}
	in.part(&m.AdvancedOption, func() mo.Reference { return optionManager(&h.Config.Option) })
	in.part(&m.FirewallSystem, func() mo.Reference { return simulator.NewHostFirewallSystem(&h.HostSystem) })
	in.part(&m.StorageSystem, func() mo.Reference { return simulator.NewHostStorageSystem(&h.HostSystem) })
	in.browser(&h.DatastoreBrowser, h.Datastore)
}

func optionManager(options *[]types.BaseOptionValue) mo.Reference {
	m, _ := simulator.NewOptionManager(nil, nil, options).(*simulator.OptionManager)
	return m
}

// complete fills in what only a connected host reports, for a host that was disconnected during the save.
func (in *installer) complete(h *mo.HostSystem) {
	like := esx.HostSystem
	if h.Config == nil {
		in.note("host %s was disconnected: its configuration was not saved", h.Name)
		config := *like.Config
		h.Config = &config
	}
	if h.Config.Network == nil {
		network := *like.Config.Network
		h.Config.Network = &network
	}
	if h.Hardware == nil {
		hardware := *esx.HostHardwareInfo
		h.Hardware = &hardware
		if s := h.Summary.Hardware; s != nil {
			h.Hardware.SystemInfo.Uuid = s.Uuid
			h.Hardware.CpuInfo.NumCpuCores, h.Hardware.MemorySize = s.NumCpuCores, s.MemorySize
		}
	}
	if h.Summary.Hardware == nil {
		hardware := *like.Summary.Hardware
		h.Summary.Hardware = &hardware
	}
	if h.Capability == nil {
		capability := *esx.HostCapability
		h.Capability = &capability
	}
	if h.Summary.Config.Product == nil {
		product := h.Config.Product
		h.Summary.Config.Product = &product
	}
}

// compute sets the environment browser of a compute resource.
func (in *installer) compute(c *mo.ComputeResource) {
	in.part(&c.EnvironmentBrowser, func() mo.Reference { return new(simulator.EnvironmentBrowser) })
}

func (in *installer) environment(b *simulator.EnvironmentBrowser, answers map[string]any) {
	if r, ok := answers["QueryConfigOption"].(types.QueryConfigOptionResponse); ok {
		b.QueryConfigOptionResponse = r
	}
	if r, ok := answers["QueryConfigTarget"].(types.QueryConfigTargetResponse); ok {
		b.QueryConfigTargetResponse = r
	}
	if r, ok := answers["QueryTargetCapabilities"].(types.QueryTargetCapabilitiesResponse); ok {
		b.QueryTargetCapabilitiesResponse = r
	}
	r, ok := answers["QueryConfigOptionDescriptor"].(types.QueryConfigOptionDescriptorResponse)
	if !ok { // govc does not save it
		if o := b.QueryConfigOptionResponse.Returnval; o != nil && o.Version != "" {
			r.Returnval = []types.VirtualMachineConfigOptionDescriptor{{
				Key: o.Version, Description: o.Description, DefaultConfigOption: true,
				CreateSupported: true, RunSupported: true, UpgradeSupported: true,
			}}
		}
	}
	b.QueryConfigOptionDescriptorResponse = r
}

// part returns the object of a reference, or creates it under that reference, if set.
func (in *installer) part(at **vc.Ref, fresh func() mo.Reference) mo.Reference {
	if *at != nil {
		if obj := in.base.Map.Get(**at); obj != nil {
			return obj
		}
	}
	obj := fresh()
	if *at != nil {
		reflect.ValueOf(obj).Elem().FieldByName("Self").Set(reflect.ValueOf(**at))
	}
	ref := in.base.Map.Put(obj).Reference()
	*at = &ref
	return obj
}

// browser makes sure that a reference has a datastore browser.
func (in *installer) browser(at *vc.Ref, stores []vc.Ref) {
	ref := at
	if at.Value == "" {
		ref = nil
	}
	in.part(&ref, func() mo.Reference {
		return &simulator.HostDatastoreBrowser{HostDatastoreBrowser: mo.HostDatastoreBrowser{Datastore: stores}}
	})
	*at = *ref
}

// answer returns the saved answer of a method of an object.
func (in *installer) answer(ref vc.Ref, method string) any {
	if o := in.objects[ref]; o != nil {
		return o.answers[method]
	}
	return nil
}
