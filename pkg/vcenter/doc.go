// Package vcenter connects to existing vCenters: their addresses, their trust, and a session at each.
//
// The vCenters come from a vsphere.conf, the file of the cloud provider ([LoadFile]), or from govc's variables
// ([FromEnvironment]). [VCenter.Connect] logs in; for an untrusted certificate its error describes the certificate and how to
// trust it ([UntrustedError]).
//
//	config, err := vcenter.LoadFile("vsphere.conf")
//	if err != nil { … }
//	c, err := config.VCenters[0].Connect(ctx, vcenter.Options{UserAgent: "my-tool"})
//	if err != nil { … }
//	defer c.Close()
//
// Of the packages below, inventory reads selected VMs, record converts them to a topology, and doctor reports what a cloud
// provider and a CSI driver cannot do. None of them writes to a vCenter; writes go through scope, which limits them, and journal,
// which can revert them.
//
// The package does not use nodes or simulators, and prints nothing. Passwords appear in no error and no formatted value.
//
// Floor 2: of this module it imports only provider/config and provider/vcenter.
package vcenter
