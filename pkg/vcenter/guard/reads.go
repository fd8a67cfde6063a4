package guard

import (
	"slices"
	"strings"
)

// reads tells whether a method of SOAP changes nothing but the caller's own session: its filters, views and collectors
// among it.
func reads(method string) bool {
	return slices.Contains(harmless(), method) ||
		slices.ContainsFunc(asking(), func(prefix string) bool { return strings.HasPrefix(method, prefix) })
}

// asking are the beginnings of names of methods that ask.
func asking() []string {
	return []string{
		"Retrieve", "Query", "Find", "List", "Read", "Get", "Fetch", "Browse", "Has", "Estimate",
		"CnsQuery", "PbmQuery", "PbmRetrieve", "PbmFetch", "PbmCheck", "VslmQuery", "VslmRetrieve", "VslmList",
	}
}

// harmless are the others: sessions, filters, views, collectors, searches of files.
func harmless() []string {
	return []string{
		"Login", "LoginByToken", "LoginBySSPI", "LoginExtensionByCertificate", "Logout", "SessionIsActive", "SetLocale",
		"CurrentTime", "VslmLoginByToken", "VslmLogout",
		"CreatePropertyCollector", "DestroyPropertyCollector", "CreateFilter", "DestroyPropertyFilter", "WaitForUpdates",
		"WaitForUpdatesEx", "CheckForUpdates", "CancelWaitForUpdates", "ContinueRetrievePropertiesEx", "CancelRetrievePropertiesEx",
		"CreateContainerView", "CreateListView", "CreateListViewFromView", "ModifyListView", "ResetListView", "ResetListViewFromView",
		"CreateInventoryView", "OpenInventoryViewFolder", "CloseInventoryViewFolder", "DestroyView",
		"CreateCollectorForEvents", "CreateCollectorForTasks", "RewindCollector", "ResetCollector", "SetCollectorPageSize",
		"DestroyCollector", "SearchDatastore_Task", "SearchDatastoreSubFolders_Task", "CheckCompliance_Task",
	}
}
