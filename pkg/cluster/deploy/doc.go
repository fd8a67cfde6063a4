// Package deploy runs a cloud controller manager and a CSI driver as pods of a cluster: the sandbox's own, of the same files
// that people apply by hand (module folder manifests), or somebody else's release manifest as it is.
//
//	d, err := deploy.New(c, deploy.Options{Speed: 10, Exec: inNode})
//	defer d.Close()
//	reached, err := d.VCenters(ctx, []deploy.Endpoint{{Name: "us", Addr: netip.MustParseAddrPort("172.18.0.1:8989")}})
//	// … make vsphere.conf of reached[0].Host
//	err = d.CCM(ctx, deploy.CCM{Image: set.Name(image.CCM), Config: deploy.Config{Conf: conf, CA: ca, Secret: secret}})
//	err = d.Wait(ctx, func(text string) { fmt.Println(text) })
//
// Everything that it makes is labeled app.kubernetes.io/managed-by=vsphere-sandbox, and with its instance if it has one; it changes and removes nothing
// else: what has one of its names and not its label is an error, before anything was applied.
//
// What runs is seen as components: "ccm", "ccm-2", and of the CSI driver one for each container of its controller, by the
// names that processes have on the embedded ground. Node services are pods of nodes, and no components.
//
// Floor 2: of this module it imports pkg/cluster, pkg/csi/objects, internal/pace and the files of manifests.
package deploy
