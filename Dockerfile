FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o /hermesfake ./cmd/hermesfake

FROM scratch
COPY --from=build /hermesfake /hermesfake
USER 65534
EXPOSE 8827
ENTRYPOINT ["/hermesfake"]
# Beyond loopback the server needs HERMESFAKE_ADMIN_KEY.
CMD ["serve", "--host", "0.0.0.0"]
