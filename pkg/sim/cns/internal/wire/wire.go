package wire

import (
	cns "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// CnsVolume has govmomi's fields.
type CnsVolume struct {
	types.DynamicData

	VolumeId                     cns.CnsVolumeId                 `xml:"volumeId"`
	DatastoreUrl                 string                          `xml:"datastoreUrl,omitempty"`
	Name                         string                          `xml:"name,omitempty"`
	VolumeType                   string                          `xml:"volumeType,omitempty"`
	StoragePolicyId              string                          `xml:"storagePolicyId,omitempty"`
	Metadata                     cns.CnsVolumeMetadata           `xml:"metadata,omitempty"`
	BackingObjectDetails         cns.BaseCnsBackingObjectDetails `xml:"backingObjectDetails,omitempty,typeattr"`
	ComplianceStatus             string                          `xml:"complianceStatus,omitempty"`
	DatastoreAccessibilityStatus string                          `xml:"datastoreAccessibilityStatus,omitempty"`
	HealthStatus                 string                          `xml:"healthStatus,omitempty"`
	ChangedBlockTracking         cns.CnsVolumeCBTStatus          `xml:"changedBlockTracking,omitempty"`
}

// CnsQueryResult is the result of a query.
type CnsQueryResult struct {
	types.DynamicData

	Volumes []CnsVolume   `xml:"volumes,omitempty"`
	Cursor  cns.CnsCursor `xml:"cursor"`
}

// CnsAsyncQueryResult is the result of a query as a task.
type CnsAsyncQueryResult struct {
	cns.CnsVolumeOperationResult

	QueryResult CnsQueryResult `xml:"queryResult,omitempty"`
}

// CnsQueryVolumeResponse is the response of CnsQueryVolume.
type CnsQueryVolumeResponse struct {
	Returnval CnsQueryResult `xml:"returnval"`
}

// CnsQueryAllVolumeResponse is the response of CnsQueryAllVolume.
type CnsQueryAllVolumeResponse struct {
	Returnval CnsQueryResult `xml:"returnval"`
}

// CnsQueryVolumeBody is the response body of CnsQueryVolume.
type CnsQueryVolumeBody struct {
	Res    *CnsQueryVolumeResponse `xml:"urn:vsan CnsQueryVolumeResponse,omitempty"`
	Fault_ *soap.Fault             `xml:"http://schemas.xmlsoap.org/soap/envelope/ Fault,omitempty"`
}

// Fault implements soap.HasFault.
func (b *CnsQueryVolumeBody) Fault() *soap.Fault { return b.Fault_ }

// CnsQueryAllVolumeBody is the response body of CnsQueryAllVolume.
type CnsQueryAllVolumeBody struct {
	Res    *CnsQueryAllVolumeResponse `xml:"urn:vsan CnsQueryAllVolumeResponse,omitempty"`
	Fault_ *soap.Fault                `xml:"http://schemas.xmlsoap.org/soap/envelope/ Fault,omitempty"`
}

// Fault implements soap.HasFault.
func (b *CnsQueryAllVolumeBody) Fault() *soap.Fault { return b.Fault_ }
