package config

import (
	provider "github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
)

// Config is a read, inherited and checked configuration. It is not changed once it is made.
type Config struct {
	// Form is the file's.
	Form Form
	// ClusterID tells this cluster's volumes from all others' in CNS; Distribution is shown beside it.
	ClusterID, Distribution string
	// VCenters are in the order of their names ([VCenter.Tenant]).
	VCenters []VCenter
	// Categories are the tag categories whose tags are topology, the wider before the narrower: region, zone.
	Categories []string
	// Labels are the topology keys of those categories that have another than topology.csi.vmware.com/<category>.
	Labels map[string]string
	// MigrationDatastores are the URLs of the datastores that in-tree volumes mean or go to where they do not say, in the
	// order of the vCenters that name one.
	MigrationDatastores []string
	// SnapshotLimit is how many snapshots a volume may have.
	SnapshotLimit int
	// Page is how many volumes are asked for at once.
	Page int
	// Warnings are for the operator: what is valid and has no effect, "FILE:LINE: KEY: why" each.
	Warnings []string
}

// VCenter is one vCenter to connect to, and where its credentials are: User and Password, a Secret, or a directory. Its
// name in the driver is Tenant.
type VCenter = provider.VCenter

// SecretRef names a Secret in the cluster.
type SecretRef = provider.SecretRef

// Form is a form of the file.
type Form string

// The forms. Auto looks at the file: one that is named csi-vsphere.conf, or has keys that only upstream's driver knows,
// is CSI.
const (
	Auto  Form = ""
	CSI   Form = "csi-vsphere.conf"
	Cloud Form = "vsphere.conf"
)

const (
	defaultSnapshots = 3    // upstream's
	mostSnapshots    = 32   // that vSphere keeps of a disk
	defaultPage      = 1000 // what CNS returns at most
)
