package cns

import (
	cnstypes "github.com/vmware/govmomi/cns/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/cns/internal/wire"
)

// selection is which fields of volumes a query returns; nil: all. The id is always returned.
type selection map[string]bool

// metadataSelected selects the metadata; govmomi has no name for it.
const metadataSelected = "VOLUME_METADATA"

// selected reads a selection. One without names selects the id alone. Names may be those of the enumeration or of the
// fields. Source: vSAN Management API, CnsQuerySelection.
func selected(q *cnstypes.CnsQuerySelection) selection {
	if q == nil {
		return nil
	}
	s := make(selection, len(q.Names))
	names := fieldNames()
	for _, name := range q.Names {
		if known, ok := names[name]; ok {
			name = string(known)
		}
		s[name] = true
	}
	return s
}

// fieldNames are the fields' own names, which CNS takes too.
func fieldNames() map[string]cnstypes.QuerySelectionNameType {
	return map[string]cnstypes.QuerySelectionNameType{
		"name":                         cnstypes.QuerySelectionNameTypeVolumeName,
		"volumeType":                   cnstypes.QuerySelectionNameTypeVolumeType,
		"backingObjectDetails":         cnstypes.QuerySelectionNameTypeBackingObjectDetails,
		"complianceStatus":             cnstypes.QuerySelectionNameTypeComplianceStatus,
		"datastoreAccessibilityStatus": cnstypes.QuerySelectionNameTypeDataStoreAccessibility,
		"healthStatus":                 cnstypes.QuerySelectionNameTypeHealthStatus,
		"datastoreUrl":                 cnstypes.QuerySelectionNameTypeDataStoreUrl,
		"storagePolicyId":              cnstypes.QuerySelectionNameTypePolicyId,
		"metadata":                     metadataSelected,
	}
}

func (s selection) has(name cnstypes.QuerySelectionNameType) bool { return s == nil || s[string(name)] }

// trim takes from a volume what is not selected.
func (s selection) trim(v wire.CnsVolume) wire.CnsVolume {
	if s == nil {
		return v
	}
	t := wire.CnsVolume{VolumeId: v.VolumeId}
	if s.has(cnstypes.QuerySelectionNameTypeVolumeName) {
		t.Name = v.Name
	}
	if s.has(cnstypes.QuerySelectionNameTypeVolumeType) {
		t.VolumeType = v.VolumeType
	}
	if s.has(cnstypes.QuerySelectionNameTypeBackingObjectDetails) {
		t.BackingObjectDetails = v.BackingObjectDetails
	}
	if s.has(cnstypes.QuerySelectionNameTypeComplianceStatus) {
		t.ComplianceStatus = v.ComplianceStatus
	}
	if s.has(cnstypes.QuerySelectionNameTypeDataStoreAccessibility) {
		t.DatastoreAccessibilityStatus = v.DatastoreAccessibilityStatus
	}
	if s.has(cnstypes.QuerySelectionNameTypeHealthStatus) {
		t.HealthStatus = v.HealthStatus
	}
	if s.has(cnstypes.QuerySelectionNameTypeDataStoreUrl) {
		t.DatastoreUrl = v.DatastoreUrl
	}
	if s.has(cnstypes.QuerySelectionNameTypePolicyId) {
		t.StoragePolicyId = v.StoragePolicyId
	}
	if s.has(metadataSelected) {
		t.Metadata = v.Metadata
	}
	return t
}
