// Package check looks at a cluster that the vSphere provider of Kubernetes runs, or ran, and at its vCenters, and says what
// stands in the way of the cloud controller manager and the CSI driver.
//
//	report, err := check.Run(ctx, check.Input{Client: client, VCenters: config, UserAgent: "my-tool"})
//	if err != nil {
//		return err // the cluster does not answer; nothing is known
//	}
//	for _, f := range report.Findings {
//		fmt.Println(f.Verdict, f.Check, f.Found, f.Try)
//	}
//
// What a vCenter, its accounts and its VMs have to be like is known to package doctor of pkg/vcenter, which is asked. Here is
// what a migration adds: nodes with their VMs, labels of both generations, tags in the wrong place, volumes of the in-tree
// provider and whether their disks are there, and how far the cluster has come already.
//
// It only reads: of the cluster it gets and lists, of a vCenter it asks what doctor asks, and searches datastores. It knows no
// password and no file, and prints nothing.
//
// Floor 2: of this module it imports csi/names, pkg/vcenter, its inventory and its doctor.
package check
