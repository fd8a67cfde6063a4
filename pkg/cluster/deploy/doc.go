// Package deploy runs a cloud controller manager and a CSI driver as pods of a cluster: the sandbox's own, from the same
// files that users apply by hand (module folder manifests), or another project's release manifest unchanged.
//
//	d, err := deploy.New(c, deploy.Options{Speed: 10, Exec: inNode})
//	defer d.Close()
//	reached, err := d.VCenters(ctx, []deploy.Endpoint{{Name: "us", Addr: netip.MustParseAddrPort("172.18.0.1:8989")}})
//	// … write vsphere.conf for reached[0].Host
//	err = d.CCM(ctx, deploy.CCM{Image: set.Name(image.CCM), Config: deploy.Config{Conf: conf, CA: ca, Secret: secret}})
//	err = d.Wait(ctx, func(text string) { fmt.Println(text) })
//
// Every object that it creates has the label app.kubernetes.io/managed-by=vsphere-sandbox, and its instance if it has
// one. It changes and removes nothing else: an existing object of the same name without that label is an error, before
// anything is applied.
//
// The running programs are components: "ccm", "ccm-2", and one for each container of the CSI driver's controller, with
// the names of the processes on the embedded ground. Node services are pods of nodes, and no components.
//
// Floor 2: of this module it imports pkg/cluster, pkg/csi/objects, internal/pace and the files of manifests.
package deploy
