package guard

// The methods that read. Everything else is refused: TestEveryMethod compares the lists with govmomi's methods, and fails for a
// method that testdata/methods.txt lacks.
//
// They start nothing: a method may only change what belongs to the caller's session (filters, views, collectors). A search of
// files creates a task, and reads. Methods that make vCenter connect elsewhere (QueryConnectionInfo), or issue tickets that
// bypass the guard (AcquireGenericServiceTicket, CloneSession), are excluded.

// vimReads lists those of the vSphere API.
func vimReads(method string) bool {
	switch method {
	// Sessions, and their objects.
	case "Login", "LoginByToken", "LoginBySSPI", "LoginExtensionByCertificate", "Logout", "SessionIsActive",
		"SetLocale", "CurrentTime", "CreatePropertyCollector", "DestroyPropertyCollector", "CreateFilter",
		"DestroyPropertyFilter", "WaitForUpdates", "WaitForUpdatesEx", "CheckForUpdates", "CancelWaitForUpdates",
		"ContinueRetrievePropertiesEx", "CancelRetrievePropertiesEx", "CreateContainerView", "CreateListView",
		"CreateListViewFromView", "ModifyListView", "ResetListView", "ResetListViewFromView", "CreateInventoryView",
		"OpenInventoryViewFolder", "CloseInventoryViewFolder", "DestroyView", "CreateCollectorForEvents",
		"CreateCollectorForTasks", "CreateCollectorWithInfoFilterForTasks", "RewindCollector", "ResetCollector",
		"SetCollectorPageSize", "DestroyCollector":
		return true
	// Without a usual prefix.
	case "SearchDatastore_Task", "SearchDatastoreSubFolders_Task", "AreAlarmActionsEnabled",
		"DoesCustomizationSpecExist", "CustomizationSpecItemToXml", "DecodeLicense", "ConvertNamespacePathToUuidPath",
		"HostListVStorageObject", "HostRetrieveVStorageObject", "HostRetrieveVStorageObjectState",
		"HostRetrieveVStorageObjectMetadata", "HostRetrieveVStorageObjectMetadataValue",
		"HostVStorageObjectRetrieveSnapshotInfo", "HostRetrieveVStorageInfrastructureObjectPolicy",
		"HostQueryVirtualDiskUuid", "VstorageObjectVCenterQueryChangedDiskAreas":
		return true
	case "BrowseDiagnosticLog", "EstimateDatabaseSize", "FetchAuditRecords", "FetchDVPortKeys", "FetchDVPorts",
		"FetchSystemEventLog", "FetchUserPrivilegeOnEntities", "FetchVmGroupForMultiwriterDisks", "FindAllByDnsName",
		"FindAllByIp", "FindAllByUuid", "FindAssociatedProfile", "FindByDatastorePath", "FindByDnsName",
		"FindByInventoryPath", "FindByIp", "FindByUuid", "FindChild", "FindExtension", "FindRulesForVm", "GetAlarm",
		"GetAlarmState", "GetClusterMode", "GetCryptoKeyStatus", "GetCustomizationSpec", "GetDefaultKmsCluster",
		"GetPublicKey", "GetResourceUsage", "GetSiteInfo", "GetSystemVMsRestrictedDatastores", "GetVchaClusterHealth",
		"GetVchaConfig", "GetVsanObjExtAttrs", "HasMonitoredEntity", "HasPrivilegeOnEntities", "HasPrivilegeOnEntity",
		"HasProvider", "HasUserPrivilegeOnEntities", "ListCACertificateRevocationLists", "ListCACertificates",
		"ListFilesInGuest", "ListGuestAliases", "ListGuestMappedAliases", "ListKeys", "ListKmipServers",
		"ListKmsClusters", "ListProcessesInGuest", "ListRegistryKeysInGuest", "ListRegistryValuesInGuest",
		"ListSmartCardTrustAnchors", "ListTagsAttachedToVStorageObject", "ListVStorageObject",
		"ListVStorageObjectsAttachedToTag", "QueryAnswerFileStatus", "QueryAssignedLicenses",
		"QueryAvailableDisksForVmfs", "QueryAvailableDvsSpec", "QueryAvailablePartition", "QueryAvailablePerfMetric",
		"QueryAvailableSsds", "QueryAvailableTimeZones", "QueryBootDevices", "QueryBoundVnics", "QueryCandidateNics",
		"QueryChangedDiskAreas", "QueryCmmds", "QueryCompatibleHostForExistingDvs", "QueryCompatibleHostForNewDvs",
		"QueryCompatibleVmnicsFromHosts", "QueryComplianceStatus", "QueryConfigOption", "QueryConfigOptionDescriptor",
		"QueryConfigOptionEx", "QueryConfigTarget", "QueryConfiguredModuleOptionString", "QueryConnections",
		"QueryCryptoKeyStatus", "QueryDatacenterConfigOptionDescriptor", "QueryDatastorePerformanceSummary",
		"QueryDateTime", "QueryDescriptions", "QueryDirectoryInfo", "QueryDisksForVsan", "QueryDisksUsingFilter",
		"QueryDvsByUuid", "QueryDvsCheckCompatibility", "QueryDvsCompatibleHostSpec", "QueryDvsConfigTarget",
		"QueryDvsFeatureCapability", "QueryEvents", "QueryExpressionMetadata", "QueryExtensionIpAllocationUsage",
		"QueryFaultToleranceCompatibility", "QueryFaultToleranceCompatibilityEx", "QueryFileLockInfo",
		"QueryFilterEntities", "QueryFilterInfoIds", "QueryFilterList", "QueryFilterName", "QueryHealthUpdateInfos",
		"QueryHealthUpdates", "QueryHostConnectionInfo", "QueryHostProfileMetadata", "QueryHostStatus",
		"QueryHostsWithAttachedLun", "QueryIORMConfigOption", "QueryIPAllocations", "QueryIoFilterInfo",
		"QueryIoFilterIssues", "QueryIpPools", "QueryLicenseSourceAvailability", "QueryLicenseUsage",
		"QueryLockdownExceptions", "QueryManagedBy", "QueryMaxQueueDepth", "QueryMemoryOverhead",
		"QueryMemoryOverheadEx", "QueryMigrationDependencies", "QueryModules", "QueryMonitoredEntities",
		"QueryNFSUser", "QueryNetConfig", "QueryNetworkHint", "QueryObjectsOnPhysicalVsanDisk", "QueryOptions",
		"QueryPartitionCreateDesc", "QueryPartitionCreateOptions", "QueryPathSelectionPolicyOptions", "QueryPerf",
		"QueryPerfComposite", "QueryPerfCounter", "QueryPerfCounterByLevel", "QueryPerfProviderSummary",
		"QueryPhysicalVsanDisks", "QueryPnicStatus", "QueryPolicyMetadata", "QueryProductLockerLocation",
		"QueryProfileStructure", "QueryProviderList", "QueryProviderName", "QueryResourceConfigOption",
		"QueryServiceList", "QueryStorageArrayTypePolicyOptions", "QuerySupportedFeatures",
		"QuerySupportedNetworkOffloadSpec", "QuerySyncingVsanObjects", "QuerySystemUsers", "QueryTargetCapabilities",
		"QueryTpmAttestationReport", "QueryUnmonitoredHosts", "QueryUnownedFiles", "QueryUnresolvedVmfsVolume",
		"QueryUnresolvedVmfsVolumes", "QueryUsedVlanIdInDvs", "QueryVMotionCompatibility",
		"QueryVirtualDiskFragmentation", "QueryVirtualDiskGeometry", "QueryVirtualDiskUuid", "QueryVirtualDiskUuidEx",
		"QueryVmfsConfigOption", "QueryVmfsDatastoreCreateOptions", "QueryVmfsDatastoreExpandOptions",
		"QueryVmfsDatastoreExtendOptions", "QueryVnicStatus", "QueryVsanObjectUuidsByFilter", "QueryVsanObjects",
		"QueryVsanStatistics", "QueryVsanUpgradeStatus", "ReadEnvironmentVariableInGuest", "ReadNextEvents",
		"ReadNextTasks", "ReadNextTasksByViewSpec", "ReadPreviousEvents", "ReadPreviousTasks",
		"RetrieveAllPermissions", "RetrieveAnswerFile", "RetrieveAnswerFileForProfile", "RetrieveArgumentDescription",
		"RetrieveCertificateInfoList", "RetrieveClientCert", "RetrieveClientCsr", "RetrieveDasAdvancedRuntimeInfo",
		"RetrieveDescription", "RetrieveDiskPartitionInfo", "RetrieveDynamicPassthroughInfo",
		"RetrieveEntityPermissions", "RetrieveEntityScheduledTask", "RetrieveFreeEpcMemory", "RetrieveHardwareUptime",
		"RetrieveHostAccessControlEntries", "RetrieveHostCustomizations", "RetrieveHostCustomizationsForProfile",
		"RetrieveHostSpecification", "RetrieveKmipServerCert", "RetrieveObjectScheduledTask",
		"RetrieveProductComponents", "RetrieveProperties", "RetrievePropertiesEx", "RetrieveRolePermissions",
		"RetrieveSelfSignedClientCert", "RetrieveServiceContent", "RetrieveServiceProviderEntities",
		"RetrieveSnapshotDetails", "RetrieveSnapshotInfo", "RetrieveUserGroups",
		"RetrieveVStorageInfrastructureObjectPolicy", "RetrieveVStorageObject", "RetrieveVStorageObjectAssociations",
		"RetrieveVStorageObjectState", "RetrieveVendorDeviceGroupInfo", "RetrieveVgpuDeviceInfo",
		"RetrieveVgpuProfileInfo":
		return true
	}
	return false
}

// pbmReads lists those of storage policies.
func pbmReads(method string) bool {
	switch method {
	case "PbmFetchCapabilityMetadata", "PbmFetchCapabilitySchema", "PbmFetchComplianceResult", "PbmFetchResourceType",
		"PbmFetchRollupComplianceResult", "PbmFetchVendorInfo", "PbmQueryAssociatedEntities",
		"PbmQueryAssociatedEntity", "PbmQueryAssociatedProfile", "PbmQueryAssociatedProfiles",
		"PbmQueryByRollupComplianceStatus", "PbmQueryDefaultRequirementProfile", "PbmQueryDefaultRequirementProfiles",
		"PbmQueryIOFiltersFromProfileId", "PbmQueryMatchingHub", "PbmQueryMatchingHubWithSpec", "PbmQueryProfile",
		"PbmQueryProfileDetails", "PbmQueryReplicationGroups", "PbmQuerySpaceStatsForStorageContainer",
		"PbmRetrieveContent", "PbmRetrieveServiceContent", "PbmCheckCompatibility", "PbmCheckCompatibilityWithSpec",
		"PbmCheckRequirements", "PbmFindApplicableDefaultProfile":
		return true
	}
	return false
}

// vsanReads lists those of Cloud Native Storage, and of vSAN as used by a CSI driver and govc.
func vsanReads(method string) bool {
	switch method {
	case "CnsQueryAllVolume", "CnsQueryAsync", "CnsQuerySnapshots", "CnsQueryVolume", "CnsQueryVolumeInfo":
		return true
	case "RetrieveProperties", "RetrievePropertiesEx", "VsanClusterGetConfig", "VsanClusterQueryFileShares",
		"VsanClusterQueryFsDomains", "VsanGetCapabilities", "VsanPerfQueryPerf", "VsanQueryObjectIdentities", "VsanRetrieveProperties":
		return true
	}
	return false
}

// vslmReads lists those of first-class disks.
func vslmReads(method string) bool {
	switch method {
	case "RetrieveContent", "VslmLoginByToken", "VslmLogout", "VslmListTagsAttachedToVStorageObject",
		"VslmListVStorageObjectForSpec", "VslmListVStorageObjectsAttachedToTag", "VslmQueryChangedDiskAreas",
		"VslmQueryDatastoreInfo", "VslmQueryGlobalCatalogSyncStatus", "VslmQueryGlobalCatalogSyncStatusForDatastore",
		"VslmQueryInfo", "VslmQueryTaskResult", "VslmRetrieveSnapshotDetails", "VslmRetrieveSnapshotInfo",
		"VslmRetrieveVStorageInfrastructureObjectPolicy", "VslmRetrieveVStorageObject",
		"VslmRetrieveVStorageObjectAssociations", "VslmRetrieveVStorageObjectMetadata",
		"VslmRetrieveVStorageObjectMetadataValue", "VslmRetrieveVStorageObjectState", "VslmRetrieveVStorageObjects":
		return true
	}
	return false
}

// lookupReads lists those of the lookup service.
func lookupReads(method string) bool {
	switch method {
	case "Get", "GetLocale", "GetSiteId", "List", "RetrieveServiceContent", "SetLocale":
		return true
	}
	return false
}

// ssoReads lists those of user administration.
func ssoReads(method string) bool {
	switch method {
	case "IsMemberOfGroup", "Login", "Logout", "SsoAdminServiceInstance", "SsoGroupcheckServiceInstance", "Find",
		"FindAllParentGroups", "FindCertificate", "FindDirectParentGroups", "FindDisabledPersonUsers",
		"FindDisabledSolutionUsers", "FindExternalDomain", "FindGroup", "FindGroups", "FindGroupsInGroup",
		"FindLockedUsers", "FindNestedParentGroups", "FindParentGroups", "FindPersonUser", "FindPersonUsers",
		"FindPersonUsersInGroup", "FindSolutionUser", "FindSolutionUsers", "FindSolutionUsersInGroup", "FindUser",
		"FindUsers", "FindUsersInGroup", "Get", "GetAllCertificates", "GetClockTolerance", "GetDelegationCount",
		"GetDomains", "GetIssuersCertificates", "GetKnownCertificateChains", "GetLocalPasswordPolicy",
		"GetLockoutPolicy", "GetMaximumBearerTokenLifetime", "GetMaximumHoKTokenLifetime",
		"GetPasswordExpirationConfiguration", "GetRenewCount", "GetSslCertificateManager",
		"GetSystemDomainName", "GetTrustedCertificates", "HasAdministratorRole", "HasRegularUserRole":
		return true
	}
	return false
}
