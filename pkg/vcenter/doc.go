// Package vcenter is about vCenters that are not ours: where they are, how to trust them, and a connection to each.
//
// Which ones is said by a vsphere.conf, the very file that the cloud provider reads ([LoadFile]), or by govc's variables
// ([FromEnvironment]). [VCenter.Connect] logs in, and says of a certificate that nobody vouches for what it is and how to
// trust it ([UntrustedError]).
//
//	config, err := vcenter.LoadFile("vsphere.conf")
//	if err != nil { … }
//	c, err := config.VCenters[0].Connect(ctx, vcenter.Options{UserAgent: "my-tool"})
//	if err != nil { … }
//	defer c.Close()
//
// Of the packages below, inventory reads the VMs that are chosen, record makes a topology of them, and doctor says what a
// cloud provider and a CSI driver will not be able to do. None of them writes to a vCenter; who does goes through scope,
// which refuses what is outside, and journal, which knows the way back.
//
// It knows neither nodes nor simulators, and prints nothing. Passwords are in no error and in no text made of a value.
//
// Floor 2: of this module it imports only provider/config and provider/vcenter.
package vcenter
