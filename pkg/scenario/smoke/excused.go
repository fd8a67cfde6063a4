package smoke

// upstreamSanity are the tests of csi-test v5.4.0 that upstream's driver v3.7.0 fails, each with what it does instead.
func upstreamSanity() []excused {
	const (
		controller = "Controller Service [Controller Server] "
		create     = controller + "CreateVolume "
		validate   = controller + "ValidateVolumeCapabilities "
		publish    = controller + "ControllerPublishVolume "
		snapshot   = "CreateSnapshot [Controller Server] "
		list       = "ListSnapshots [Controller Server] "

		internal  = "Internal instead of InvalidArgument"
		unchecked = "not checked: the request succeeds"
		requisite = "a topology that is only requisite, and not preferred, belongs to no vCenter: Internal, without a reason"
	)
	return []excused{
		{create + "should fail when no name is provided", internal},
		{create + "should fail when no volume capabilities are provided", unchecked},
		{create + "should fail when requesting to create a volume with already existing name and different capacity", "returns the existing volume, with the other size"},
		{create + "should fail when the volume source snapshot is not found", "InvalidArgument instead of NotFound: an ID of a snapshot is VOLUME+SNAPSHOT"},
		{validate + "should fail when no volume id is provided", unchecked},
		{validate + "should fail when no volume capabilities are provided", unchecked},
		{validate + "should fail when the requested volume does not exist", unchecked},
		{publish + "should fail when no volume id is provided", internal},
		{publish + "should fail when no node id is provided", internal},
		{publish + "should fail when no volume capability is provided", internal},
		{publish + "should fail when the volume does not exist", "Internal instead of NotFound: looks for the node first"},
		{publish + "should fail when the node does not exist", "Internal instead of NotFound"},
		{controller + "ControllerUnpublishVolume should fail when no volume id is provided", internal},
		{controller + "ListVolumes should fail when an invalid starting_token is passed", "InvalidArgument instead of Aborted"},
		{controller + "ListVolumes check the presence of new volumes and absence of deleted ones in the volume list", "lists volumes that are attached, and no others"},
		{controller + "volume lifecycle should work", requisite},
		{controller + "volume lifecycle should be idempotent", requisite},
		{"Node Service should work", requisite},
		{"Node Service should be idempotent", requisite},
		{"Node Service NodeExpandVolume should work if node-expand is called after node-publish", "refuses an expansion without a volume capability, which the specification does not require"},
		{snapshot + "should fail when no name is provided", internal},
		{snapshot + "should fail when no source volume id is provided", internal},
		{snapshot + "should fail when requesting to create a snapshot with already existing name and different source volume ID", "names are not compared over volumes: takes a second snapshot"},
		{list + "should return empty when the specified snapshot id does not exist", "InvalidArgument: an ID of a snapshot is VOLUME+SNAPSHOT"},
		{list + "should return empty when the specified source volume id does not exist", "Internal: the volume does not exist"},
		{"DeleteSnapshot [Controller Server] should succeed when an invalid snapshot id is used", "InvalidArgument: an ID of a snapshot is VOLUME+SNAPSHOT"},
	}
}
