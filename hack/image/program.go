package main

// program is a command of the main module that becomes an image.
type program struct {
	// name is the folder below cmd, the file in the image, and the last part of the image's name.
	name string
	// title and description are for people who look at the image.
	title, description string
}

// programs are all of them. Another one is one line.
func programs() []program {
	return []program{
		{"vsphere-cloud-controller-manager", "vSphere cloud controller manager", "The cloud controller manager of clusters whose nodes are virtual machines of vCenters."},
		{"vsphere-csi", "vSphere CSI driver", "The CSI driver of clusters whose nodes are virtual machines of vCenters, controller and node service."},
		{"csi-sidecars", "Stock CSI sidecars", "csi-provisioner, csi-attacher, csi-resizer, csi-snapshotter and snapshot-controller in one program."},
	}
}
