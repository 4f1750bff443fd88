package handler

// ProviderRoutes returns the provider's routes, as "POST /v1/runs".
func ProviderRoutes() []string {
	var routes []string
	for _, pattern := range patterns {
		if r, ok := findRoute(pattern); ok {
			routes = append(routes, r.method+" "+pattern)
		}
	}
	return append(routes, "GET /v1/health")
}
